#!/usr/bin/env python3
"""Two builds of libattnscope_kernels.so in one process, in turn, on the same tensors: no kernel may
become slower by chance.

    tests/bench/against.py OLD.so NEW.so [--limit 1.02] [--repeats 31]

bf16 in peers.py's shapes: 16k tokens, hidden size 2048. A ratio is the new build's median time over
the old one's; the noise beside it is the old build's against itself, in the same turns. Exit
status 1 when a ratio is above the limit by more than the noise. Needs an NVIDIA GPU and PyTorch.
"""

import argparse
import subprocess
import sys

import torch
from peers import HIDDEN, TOKENS, Library, Ours, times_ms

SHAPES = {  # (N, d)
    "flash2": [(n, d) for n in (1024, 2048, 4096, 8192, 16384) for d in (64, 128)],
    "flash1": [(1024, 64), (4096, 64), (4096, 128)],
}


def candidates(libraries, kernel, n, d, causal, pass_name):
    """Each build's kernel on the same inputs, the old one twice."""
    torch.manual_seed(n + d)
    b, h = TOKENS // n, HIDDEN // d
    inputs = [torch.randn(b, h, n, d, device="cuda", dtype=torch.bfloat16) for _ in range(4)]
    made = {name: Ours(library, kernel, *inputs[:3], causal, inputs[3])
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
    print(f"{'kernel':<8} {'pass':<9} {'N':>6} {'d':>4} {'mask':<7} {'old ms':>9} {'new/old':>8}"
          f" {'noise':>7}  O")
    slower = 0
    for kernel, shapes in SHAPES.items():
        for pass_name in given.passes.split(","):
            for n, d in shapes:
                for causal in (False, True):
                    made = candidates(libraries, kernel, n, d, causal, pass_name)
                    medians = times_ms({name: getattr(ours, pass_name)
                                        for name, ours in made.items()}, given.repeats)
                    ratio = medians["new"] / medians["old"]
                    noise = abs(medians["old again"] / medians["old"] - 1.0)
                    same = torch.equal(made["old"].o, made["new"].o)
                    too_slow = ratio > given.limit + noise
                    slower += too_slow
                    print(f"{kernel:<8} {pass_name:<9} {n:>6} {d:>4} {'causal' if causal else 'none':<7}"
                          f" {medians['old']:>9.4f} {ratio:>8.4f} {noise:>7.4f}"
                          f"  {'identical' if same else 'other bits'}"
                          f"{'  SLOWER' if too_slow else ''}", flush=True)
                    del made
    print("no row is slower" if slower == 0 else f"{slower} rows are slower")
    return slower != 0


if __name__ == "__main__":
    sys.exit(main())
