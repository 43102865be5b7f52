#!/usr/bin/env python3
"""Two builds of libattnscope_kernels.so in one process, in turn, on the same tensors: no kernel may
become slower by chance.

    tests/bench/against.py OLD.so NEW.so [--limit 1.02] [--repeats 31]

bf16: peers.py's shapes of flash2, flash1 and standard (16k tokens, hidden size 2048), some of
block_sparse2 and split_kv, and flash2 with each score feature. A ratio is the new build's median
time over the old one's; the noise beside it is the old build's against itself, in the same turns.
Exit status 1 when a ratio is above the limit by more than the noise. Needs an NVIDIA GPU and
PyTorch.
"""

import argparse
import dataclasses
import subprocess
import sys

import torch
from attention_library import Library, Ours
from peers import HIDDEN, TOKENS, times_ms


@dataclasses.dataclass
class Case:
    kernel: str  # as in Ours
    n: int
    d: int
    label: str = "none"  # what the problem has besides its sizes
    mask: str = "none"
    problem: dict = dataclasses.field(default_factory=dict)  # more of its fields
    run: dict = dataclasses.field(default_factory=dict)  # more fields of the run
    n_kv: int = 0  # 0: n
    passes: tuple = ("forward", "backward")


def cases():
    for mask in ("none", "causal"):
        for n in (1024, 2048, 4096, 8192, 16384):
            for d in (64, 128):
                yield Case("flash2", n, d, mask, mask)
        for kernel in ("standard", "flash1"):
            for n, d in ((1024, 64), (4096, 64), (4096, 128)):
                yield Case(kernel, n, d, mask, mask)
    local = {"block_mask": "local-global:4,0"}
    for n, d, tiles in ((4096, 64, "128x128"), (4096, 128, "64x128"), (16384, 64, "128x128")):
        yield Case(f"block_sparse2@{tiles}", n, d, "local", run=local)
    for n_kv in (4096, 16384, 65536):
        yield Case("split_kv", 1, 128, "decode", n_kv=n_kv, passes=("forward",))
    for d in (64, 128):
        yield Case("flash2", 4096, d, "window", "window:1023,0")
        for label, field in {"softcap": {"softcap": 30.0}, "alibi": {"alibi": "standard"},
                             "dropout": {"dropout": {"probability": 0.1}}}.items():
            yield Case("flash2", 4096, d, label, "causal", field)


def candidates(libraries, case, pass_name):
    """Each build's kernel on the same inputs, the old one twice."""
    torch.manual_seed(case.n + case.d)
    n_kv = case.n_kv or case.n
    b, h = max(1, TOKENS // n_kv), HIDDEN // case.d
    q, k, v, dO = (torch.randn(b, h, n, case.d, device="cuda", dtype=torch.bfloat16)
                   for n in (case.n, n_kv, n_kv, case.n))
    made = {name: Ours(library, case.kernel, q, k, v, case.mask, dO, case.problem, **case.run)
            for name, library in libraries.items()}
    for ours in made.values():
        if pass_name == "backward":
            ours.prepare_backward()
        getattr(ours, pass_name)()
    torch.cuda.synchronize()
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--limit", type=float, default=1.02)
    parser.add_argument("--repeats", type=int, default=31)
    parser.add_argument("--passes", default="forward,backward")
    given = parser.parse_args()
    old, new = Library(given.old), Library(given.new)
    libraries = {"old": old, "old again": old, "new": new}
    clock = subprocess.run(["nvidia-smi", "--query-gpu=name,clocks.sm", "--format=csv,noheader"],
                           check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    print(f"{clock}; old {old.commit()}, new {new.commit()}"
          f"{' with local changes' if new.has_local_changes() else ''}")
    print(f"{'kernel':<21} {'pass':<8} {'N':>6} {'d':>4} {'with':<9} {'old ms':>9} {'new/old':>8}"
          f" {'noise':>7}  O")
    slower = 0
    for case in cases():
        for pass_name in case.passes:
            if pass_name not in given.passes.split(","):
                continue
            made = candidates(libraries, case, pass_name)
            medians = times_ms({name: getattr(ours, pass_name) for name, ours in made.items()},
                               given.repeats)
            ratio = medians["new"] / medians["old"]
            noise = abs(medians["old again"] / medians["old"] - 1.0)
            same = torch.equal(made["old"].o, made["new"].o)
            too_slow = ratio > given.limit + noise
            slower += too_slow
            print(f"{case.kernel:<21} {pass_name:<8} {case.n_kv or case.n:>6} {case.d:>4}"
                  f" {case.label:<9} {medians['old']:>9.4f} {ratio:>8.4f} {noise:>7.4f}"
                  f"  {'identical' if same else 'other bits'}{'  SLOWER' if too_slow else ''}",
                  flush=True)
            del made
    print("no row is slower" if slower == 0 else f"{slower} rows are slower")
    return slower != 0


if __name__ == "__main__":
    sys.exit(main())
