#!/usr/bin/env python3
"""The kernels of a recording beside one another, as Markdown tables.

    tests/bench/ladder.py assets/recordings/h200.json build/release/attnscope-cli

One line per kernel and pass, at the recorded problem that --shape names; then the kernels that have
other shapes, from 16k keys on: block_sparse2 at a quarter of the tiles, where flash2 was recorded
beside it, and split_kv, from the sweeps' recording, too; then flash1 and flash2 beside standard,
where there are heads for the whole GPU. Times, bytes and shares are recorded. Registers, the stack
(spills live there), shared memory and the warps that fit on an SM (--gpu) are those of
`attnscope-cli compile`. The lower bound of the time is the program's (`attnscope-cli compare`); the
recorded time is given as a multiple of it, too.
"""

import argparse
import json
import pathlib
import subprocess

READ = "l1tex__m_xbar2l1tex_read_bytes.sum"
WRITTEN = "l1tex__m_l1tex2xbar_write_bytes.sum"
DRAM_READ = "dram__bytes_read.sum"
DRAM_WRITTEN = "dram__bytes_write.sum"
TENSOR = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"

IDEAS = {
    "standard": "S and P stored in HBM: cuBLAS products around one fused softmax",
    "flash1": "S and P stay on chip; K and V are the outer loop, O (dQ) travels through HBM",
    "flash2 in fp32": "the idea of flash2 alone, on CUDA cores",
    "flash2": "loops swapped: O (dK, dV) stays on chip, a thread block per tile",
    "block_sparse2": "flash2 over a list of tiles, here a quarter of all",
    "split_kv": "the keys of few queries cut into splits, which a second launch merges by their LSE",
}
QUARTER = "uniform:0.25"  # exactly that where a row has a multiple of four tiles


def label(row):
    return row["kernel"] + (" in fp32" if row["problem"]["dtype"] == "fp32" else "")


def gigabytes(*values):
    return f"{sum(values) * 1e-9:.3g}"


def flops(problem, backward):
    per_score = 4.0 * problem["head_dim"] * (2.5 if backward else 1.0)
    scores = problem["batch"] * problem["heads"] * problem["seq_len"] * problem["kv_len"]
    return per_score * scores * (1.0 if problem["mask"] == "none" else 0.5)


def row_flops(row):
    share = 0.25 if row.get("block_mask") == QUARTER else 1.0
    return flops(row["problem"], row["pass"] == "backward") * share


def lower_bounds(cli, recording):
    """The program's lower bound of every row's time, in the order of the rows."""
    text = subprocess.run([cli, "compare", "--recording", recording, "--json", "-"],
                          capture_output=True, text=True, check=True).stdout
    return [next((line.get("modelled") for line in run.get("lines", [])
                  if (line["level"], line["quantity"]) == ("bound", "time")), None)
            for run in json.loads(text)["runs"]]


def read_rows(cli, path):
    """The rows of a recording, each with its lower bound under "bound_s"."""
    rows = read_json(path)["rows"]
    return [{**row, "bound_s": bound_s}
            for row, bound_s in zip(rows, lower_bounds(cli, path), strict=True)]


def launch_with_products(words):
    """The launch with matrix products in the output of this `attnscope-cli compile`."""
    answer = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if answer.returncode != 0:
        raise SystemExit(answer.stderr)
    return next(each for each in json.loads(answer.stdout)["launches"] if each["instructions"])


def compiled_resources(cli, row, gpu_file):
    """The last four columns: of the row's tile kernel; standard's products are cuBLAS's."""
    if "tiling" not in row or row["kernel"] == "standard":
        return ["-"] * 4
    problem, tiling = row["problem"], row["tiling"]
    words = [cli, "compile", "--json", "-", "--algorithm", row["algorithm"], "--pass", row["pass"],
             "--gpu", gpu_file, "--block-rows", tiling["Br"], "--block-cols", tiling["Bc"]]
    for key in ("batch", "heads", "kv_heads", "seq_len", "kv_len", "head_dim", "dtype", "mask"):
        words += ["--" + key.replace("_", "-"), problem[key]]
    if "block_mask" in row:
        words += ["--block-mask", row["block_mask"]]
    launch = launch_with_products(words)
    if launch["instructions"] == "wgmma" and row["instructions"] == "mma.sync":
        launch = launch_with_products(words + ["--knob", "instructions=mma"])
    most_warps = read_json(gpu_file)["max_threads_per_sm"]["value"] // 32
    return [str(launch["registers"]), str(launch["stack_bytes"]),
            f"{launch['shared_bytes'] / 1024:.0f} KiB",
            f"{launch['resident_warps']} of {most_warps}"]


def shape_text(problem):
    return (f"batch {problem['batch']}, {problem['heads']} heads, N {problem['seq_len']}, "
            f"N_kv {problem['kv_len']}, d {problem['head_dim']}")


def line(row, resources_of, has_shape):
    counters, time_s, bound_s = row["counters"], row["time"]["median_s"], row["bound_s"]
    tiling = row.get("tiling")
    return [label(row), row["pass"], shape_text(row["problem"]) if has_shape else IDEAS[label(row)],
            f"{tiling['Br']}x{tiling['Bc']}" if tiling else "-",
            f"{row_flops(row) / time_s * 1e-12:.3g}",
            f"{bound_s * 1e3:.3g}", f"{time_s / bound_s:.1f}",
            gigabytes(counters[READ], counters[WRITTEN]),
            gigabytes(counters[DRAM_READ], counters[DRAM_WRITTEN]),
            f"{counters[TENSOR]:.0f} %", *resources_of(row)]


def show(rows, resources_of, has_shape):
    header = ["kernel", "pass", "problem" if has_shape else "idea", "tiles", "TFLOP/s", "lower bound ms",
              "time / bound", "requested GB", "DRAM GB", "tensor cores busy", "registers",
              "stack bytes", "shared memory", "warps"]
    print("| " + " | ".join(header) + " |")
    print("|" + " --- |" * len(header))
    for row in rows:
        print("| " + " | ".join(line(row, resources_of, has_shape)) + " |")


def show_beside_standard(rows):
    """The time of standard divided by that of flash1 and flash2, where every SM has a head."""
    columns = [("flash1", "forward", "problem"), ("flash1", "forward", "fp32"),
               ("flash1", "backward", "problem"), ("flash2", "forward", "problem"),
               ("flash2", "backward", "problem")]
    times = {(json.dumps(row["problem"], sort_keys=True), row["kernel"], row["pass"], row["carry"]):
             row["time"]["median_s"] for row in rows
             if "time" in row and row["problem"]["dtype"] == "bf16" and not row.get("deterministic")}
    problems = [row["problem"] for row in rows if row["kernel"] == "flash1"
                and row["problem"]["heads"] >= 132 and row["pass"] == "forward"
                and row["carry"] == "problem"]
    problems.sort(key=lambda p: (p["seq_len"], p["head_dim"], p["mask"] != "none"))
    print("| N | heads | d | mask | flash1 forward | O in fp32 in HBM | flash1 backward | "
          "flash2 forward | flash2 backward |")
    print("|" + " --- |" * 9)
    for problem in problems:
        key = json.dumps(problem, sort_keys=True)
        cells = [problem["seq_len"], problem["heads"], problem["head_dim"], problem["mask"]]
        for kernel, pass_, carry in columns:
            ours = times.get((key, kernel, pass_, carry))
            theirs = times.get((key, "standard", pass_, "problem"))
            cells.append(f"{theirs / ours:.2f}" if ours and theirs else "-")
        print("| " + " | ".join(str(cell) for cell in cells) + " |")


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recording")
    parser.add_argument("program", help="attnscope-cli, whose lower bounds of the time are shown")
    parser.add_argument("--shape", default="4096,128,none", help="N,d,mask of the rows")
    parser.add_argument("--gpu", default="assets/gpus/h200.json",
                        help="description of the GPU, for what an SM holds")
    options = parser.parse_args()
    recording = read_json(options.recording)
    recorded = read_rows(options.program, options.recording)
    sweeps_path = pathlib.Path(options.recording.removesuffix(".json") + "-sweeps.json")
    sweeps = read_rows(options.program, sweeps_path) if sweeps_path.exists() else []
    N, d, mask = options.shape.split(",")
    measured = [row for row in recorded + sweeps
                if "time" in row and row["carry"] == "problem" and not row.get("deterministic")]
    dense = [(row["pass"], row["problem"]) for row in measured if row["kernel"] == "flash2"]
    own_shape = [row for row in measured if row["problem"]["dtype"] == "bf16"
                 and row["problem"]["mask"] == "none" and row["problem"]["kv_len"] >= 16384
                 and (row["kernel"] == "split_kv" or row.get("block_mask") == QUARTER
                      and (row["pass"], row["problem"]) in dense)]
    rows = [row for row in measured if row in recorded
            and row["kernel"] not in ("block_sparse2", "split_kv")
            and (label(row) == "flash2 in fp32" or row["problem"]["dtype"] == "bf16")
            and row["problem"]["batch"] * row["problem"]["seq_len"] == 16384
            and (row["problem"]["seq_len"], row["problem"]["head_dim"]) == (int(N), int(d))
            and row["problem"]["mask"] == mask]
    rows.sort(key=lambda row: (row["pass"] != "forward", list(IDEAS).index(label(row))))
    if not rows:
        raise SystemExit(f"{options.recording} has no row of N {N}, d {d}, mask {mask}")
    print(f"{recording['device']['name']}, {recording['date']}; 16k tokens, hidden size 2048: "
          f"N {N}, d {d}, mask {mask}, bf16, cold L2\n")

    def resources_of(row):
        return compiled_resources(options.program, row, options.gpu)

    show(rows, resources_of, False)
    print("\nKernels at other shapes, no mask but the list of tiles:\n")
    for name in ("block_sparse2", "split_kv"):
        if not any(row["kernel"] == name for row in own_shape):
            print(f"{name}: no row was recorded\n")
    own_shape.sort(key=lambda row: (row["kernel"], row["pass"] != "forward",
                                    row["problem"]["head_dim"], row["problem"]["kv_len"]))
    show(own_shape, resources_of, True)
    print("\nAt least one head per SM: standard's time divided by the column's\n")
    show_beside_standard(recorded)


if __name__ == "__main__":
    main()
