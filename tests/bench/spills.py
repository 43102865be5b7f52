#!/usr/bin/env python3
"""Which kernels spill registers on which GPU generation, as a Markdown table: compiles the plain
kernels in bf16 for every compute capability that is named, and reads what ptxas says.

    tests/bench/spills.py [--arch 80 86 89 90 100] [FILE.cu ...]

Bytes are of one thread, stored and loaded back. Needs nvcc and c++filt, no GPU; a file takes a
minute for each compute capability.
"""

import argparse
import pathlib
import re
import subprocess
import tempfile

from trace_cost import ROOT, compiler, translation_unit

FILES = ["kernels/flash1/flash1_forward.cuh", "kernels/flash1/flash1_backward.cuh",
         "kernels/flash2/flash2_forward.cuh", "kernels/flash2/flash2_backward_bf16.cu",
         "kernels/block_sparse/block_sparse_bf16.cu", "kernels/split_kv/split_kv_partial.cuh"]
KERNEL = re.compile(r"Compiling entry function '(\S+)'.*?(\d+) bytes spill stores, "
                    r"(\d+) bytes spill loads.*?Used (\d+) registers", re.S)


def short_name(mangled):
    """"flash2_forward<Bf16, 128, 128, 64, ...>": d, Br and Bc follow the type."""
    name = subprocess.run(["c++filt", mangled], check=True, stdout=subprocess.PIPE,
                          text=True).stdout.strip()
    name = re.sub(r"\((?:int|attnscope[^)]*)\)|attnscope::kernels::|device::", "", name)
    return name.removeprefix("void ")


def spilled(file, arch):
    """(name, registers, bytes stored, bytes loaded) of the file's kernels."""
    with tempfile.TemporaryDirectory() as folder:
        report = subprocess.run(
            [compiler(), "-std=c++20", "-O3", "-DNDEBUG", f"-arch=sm_{arch}", "-cubin", "-I", ROOT,
             "--expt-relaxed-constexpr", "-Xptxas=-v", "-o", pathlib.Path(folder, "kernel.cubin"),
             translation_unit(ROOT, file, folder)], check=True, stderr=subprocess.PIPE, text=True).stderr
    return [(short_name(name), int(registers), int(stored), int(loaded))
            for name, stored, loaded, registers in KERNEL.findall(report)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", default=FILES)
    parser.add_argument("--arch", nargs="+", default=["80", "86", "89", "90", "100"])
    options = parser.parse_args()
    print("| compute capability | kernel | registers | bytes stored | bytes loaded |")
    print("| --- | --- | --- | --- | --- |")
    for arch in options.arch:
        capability = f"{arch[:-1]}.{arch[-1]}"
        count = 0
        for file in options.files:
            for name, registers, stored, loaded in spilled(file, arch):
                count += 1
                if stored or loaded:
                    print(f"| {capability} | `{name}` | {registers} | {stored} | {loaded} |",
                          flush=True)
        print(f"| {capability} | {count} kernels looked at | | | |", flush=True)


if __name__ == "__main__":
    main()
