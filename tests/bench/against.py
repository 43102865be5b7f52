#!/usr/bin/env python3
"""Two builds of libattnscope_kernels.so in one process, in turn, on the same tensors: no kernel may
become slower by chance.

    tests/bench/against.py OLD.so NEW.so [--limit 1.02] [--repeats 31]

bf16: peers.py's shapes of flash2 and flash1 (16k tokens, hidden size 2048), some of block_sparse2
and split_kv, and flash2 with each score feature. A ratio is the new build's median time over the
old one's; the noise beside it is the old build's against itself, in the same turns. Exit status 1
when a ratio is above the limit by more than the noise. Needs an NVIDIA GPU and PyTorch.
"""

import argparse
import ctypes
import dataclasses
import subprocess
import sys

import torch
from attention_library import Library, Ours
from peers import HIDDEN, TOKENS, times_ms


@dataclasses.dataclass
class Case:
    kernel: str
    n: int
    d: int
    label: str = "none"  # what the problem has besides its sizes
    fields: dict = dataclasses.field(default_factory=dict)  # of peers.Problem
    n_kv: int = 0  # 0: n
    passes: tuple = ("forward", "backward")


def array(kind, values):
    return (kind * len(values))(*values)


def local_mask(n, rows, cols):
    """The fields of a block mask that keeps the tiles within 512 keys of the diagonal."""
    tr, tc = n // rows, n // cols
    kept = [abs(i * rows - j * cols) <= 512 for i in range(tr) for j in range(tc)]
    return {"block_mask": array(ctypes.c_uint8, kept), "block_mask_rows": tr,
            "block_mask_cols": tc, "block_mask_tile_rows": rows, "block_mask_tile_cols": cols}


def cases():
    causal = {"mask_right": 0}
    masks = {"none": {}, "causal": causal}
    for label, fields in masks.items():
        for n in (1024, 2048, 4096, 8192, 16384):
            for d in (64, 128):
                yield Case("flash2", n, d, label, fields)
        for n, d in ((1024, 64), (4096, 64), (4096, 128)):
            yield Case("flash1", n, d, label, fields)
    for n, d, tile in ((4096, 64, (128, 128)), (4096, 128, (64, 128)), (16384, 64, (128, 128))):
        yield Case("block_sparse2", n, d, "local 512", local_mask(n, *tile))
    for n_kv in (4096, 16384, 65536):
        yield Case("split_kv", 1, 128, "decode", {}, n_kv, ("forward",))
    for d in (64, 128):
        slopes = array(ctypes.c_double, [2.0 ** (-8 * (h + 1) * d / HIDDEN)
                                         for h in range(HIDDEN // d)])
        for label, fields in {"window": causal | {"mask_left": 1023},
                              "softcap": causal | {"soft_cap": 30.0},
                              "alibi": causal | {"alibi_slopes": slopes},
                              "dropout": causal | {"dropout_probability": 0.1}}.items():
            yield Case("flash2", 4096, d, label, fields)


def candidates(libraries, case, pass_name):
    """Each build's kernel on the same inputs, the old one twice."""
    torch.manual_seed(case.n + case.d)
    n_kv = case.n_kv or case.n
    b, h = max(1, TOKENS // n_kv), HIDDEN // case.d
    q, k, v, dO = (torch.randn(b, h, n, case.d, device="cuda", dtype=torch.bfloat16)
                   for n in (case.n, n_kv, n_kv, case.n))
    made = {name: Ours(library, case.kernel, q, k, v, False, dO, **case.fields)
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
    print(f"{'kernel':<13} {'pass':<8} {'N':>6} {'d':>4} {'with':<9} {'old ms':>9} {'new/old':>8}"
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
            print(f"{case.kernel:<13} {pass_name:<8} {case.n_kv or case.n:>6} {case.d:>4}"
                  f" {case.label:<9} {medians['old']:>9.4f} {ratio:>8.4f} {noise:>7.4f}"
                  f"  {'identical' if same else 'other bits'}{'  SLOWER' if too_slow else ''}",
                  flush=True)
            del made
    print("no row is slower" if slower == 0 else f"{slower} rows are slower")
    return slower != 0


if __name__ == "__main__":
    sys.exit(main())
