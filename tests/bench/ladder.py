#!/usr/bin/env python3
"""The ladder of kernels as a Markdown table, from a recording and the library's machine code.

    tests/bench/ladder.py assets/recordings/h200.json build/release/libattnscope_kernels.so

One line a rung and pass, at the recorded problem that --shape names. Times, bytes and shares are
recorded; registers and the stack (spills live there) are read from the machine code by cuobjdump.
"""

import argparse
import json
import re
import shutil
import subprocess

READ = "l1tex__m_xbar2l1tex_read_bytes.sum"
WRITTEN = "l1tex__m_l1tex2xbar_write_bytes.sum"
DRAM_READ = "dram__bytes_read.sum"
DRAM_WRITTEN = "dram__bytes_write.sum"
TENSOR = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"

IDEAS = {
    "standard": "S and P stored in HBM: cuBLAS products around one fused softmax",
    "flash1": "S and P stay on chip; K and V are the outer loop, O (dQ) travels through HBM",
    "flash2": "loops swapped: O (dK, dV) stays on chip, a thread block a tile",
}


def gigabytes(*values):
    return f"{sum(values) * 1e-9:.3g}"


def flops(problem, backward):
    per_score = 4.0 * problem["head_dim"] * (2.5 if backward else 1.0)
    scores = problem["batch"] * problem["heads"] * problem["seq_len"] * problem["kv_len"]
    return per_score * scores * (1.0 if problem["mask"] == "none" else 0.5)


def resources(library):
    """Registers and stack bytes of every kernel, by its demangled name; empty without cuobjdump."""
    if shutil.which("cuobjdump") is None:
        return {}
    text = subprocess.run(["cuobjdump", "--dump-resource-usage", library], capture_output=True,
                          text=True, check=True).stdout
    found = re.findall(r"Function (\S+):\s+REG:(\d+) STACK:(\d+)", text)
    names = subprocess.run(["c++filt"], input="\n".join(f[0] for f in found), capture_output=True,
                           text=True, check=True).stdout.splitlines()
    return {name: (int(reg), int(stack)) for name, (_, reg, stack) in zip(names, found)}


def kernel_resources(table, row):
    """Of the row's tile kernel; standard's products are cuBLAS's."""
    if row["kernel"] == "standard" or row["problem"]["dtype"] != "bf16":
        return "-", "-"
    d, tiling = row["problem"]["head_dim"], row["tiling"]
    carried = "float" if row["carry"] == "fp32" else "__nv_bfloat16"
    types = "__nv_bfloat16"
    if row["kernel"] == "flash1" and row["pass"] == "forward":
        types += f", {carried}"
    name = f"{row['kernel']}_{row['pass']}<{types}, {d}, {tiling['Br']}, {tiling['Bc']}"
    for demangled, (registers, stack) in table.items():
        plain = re.sub(r"\((?:int|unsigned int)\)", "", demangled)
        if name in plain and "Visits)1" not in plain:  # block_sparse2's
            return str(registers), str(stack)
    return "-", "-"


def line(row, table):
    counters, time_s = row["counters"], row["time"]["median_s"]
    registers, stack = kernel_resources(table, row)
    tiling = row.get("tiling")
    return [row["kernel"], row["pass"], IDEAS.get(row["kernel"], ""),
            f"{tiling['Br']}x{tiling['Bc']}" if tiling else "-",
            f"{flops(row['problem'], row['pass'] == 'backward') / time_s * 1e-12:.0f}",
            gigabytes(counters[READ], counters[WRITTEN]),
            gigabytes(counters[DRAM_READ], counters[DRAM_WRITTEN]),
            f"{counters[TENSOR]:.0f} %", registers, stack]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recording")
    parser.add_argument("library")
    parser.add_argument("--shape", default="4096,128,none", help="N,d,mask of the rows")
    options = parser.parse_args()
    with open(options.recording, encoding="utf-8") as file:
        recording = json.load(file)
    N, d, mask = options.shape.split(",")
    table = resources(options.library)
    rows = [row for row in recording["rows"]
            if "time" in row and row["carry"] == "problem" and row["problem"]["dtype"] == "bf16"
            and row["problem"]["batch"] * row["problem"]["seq_len"] == 16384
            and (row["problem"]["seq_len"], row["problem"]["head_dim"]) == (int(N), int(d))
            and row["problem"]["mask"] == mask]
    rows.sort(key=lambda row: (row["pass"] != "forward", list(IDEAS).index(row["kernel"])))
    if not rows:
        raise SystemExit(f"{options.recording} has no row of N {N}, d {d}, mask {mask}")
    print(f"{recording['device']['name']}, {recording['date']}; 16k tokens, hidden size 2048: "
          f"N {N}, d {d}, mask {mask}, bf16, cold L2\n")
    header = ["rung", "pass", "idea", "tiles", "TFLOP/s", "requested GB", "DRAM GB",
              "tensor cores busy", "registers", "stack bytes"]
    print("| " + " | ".join(header) + " |")
    print("|" + " --- |" * len(header))
    for row in rows:
        print("| " + " | ".join(line(row, table)) + " |")


if __name__ == "__main__":
    main()
