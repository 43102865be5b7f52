"""The blind test of the predictions: 40 problems that no recording has.

  blind.py predict CLI GPU...            CSV: what the model predicts for each problem and GPU
  blind.py measure CLI RECORDING         measures them on this machine's GPU
  blind.py compare PREDICTIONS GPU RECORDING
                                         both side by side, as a table of Markdown

The predictions are committed before the problems are measured (assets/guide/blind.md).
"""

import csv
import io
import json
import math
import subprocess
import sys

# Algorithm, pass, dtype, d, N, heads, Br x Bc, further options
PROBLEMS = [
    ("flash2", "forward", "bf16", 64, 3000, 40, (128, 128), ""),
    ("flash2", "forward", "bf16", 64, 5000, 24, (64, 64), ""),
    ("flash2", "forward", "bf16", 64, 7000, 12, (64, 128), "--mask causal"),
    ("flash2", "forward", "bf16", 64, 12000, 10, (128, 32), ""),
    ("flash2", "forward", "bf16", 64, 1500, 90, (32, 32), ""),
    ("flash2", "forward", "fp16", 64, 6000, 20, (128, 128), "--mask causal"),
    ("flash2", "forward", "bf16", 128, 2500, 50, (128, 64), ""),
    ("flash2", "forward", "bf16", 128, 6000, 18, (64, 64), "--mask causal"),
    ("flash2", "forward", "bf16", 128, 9000, 10, (64, 128), ""),
    ("flash2", "forward", "bf16", 128, 3500, 30, (128, 32), ""),
    ("flash2", "forward", "fp16", 128, 20000, 6, (128, 64), "--mask causal"),
    ("flash2", "forward", "bf16", 256, 3000, 20, (128, 64), "--mask causal"),
    ("flash2", "forward", "bf16", 256, 5000, 9, (64, 32), ""),
    ("flash2", "forward", "bf16", 32, 8000, 33, (128, 64), ""),
    ("flash2", "forward", "bf16", 96, 5500, 22, (128, 64), "--mask causal"),
    ("flash2", "forward", "bf16", 192, 4500, 16, (128, 64), ""),
    ("flash2", "forward", "fp32", 64, 2500, 24, (64, 64), ""),
    ("flash2", "forward", "fp32", 128, 3000, 12, (32, 32), "--mask causal"),
    ("flash2", "forward", "bf16", 128, 6000, 32, (128, 64), "--kv-heads 4"),
    ("flash2", "forward", "bf16", 80, 4000, 24, (128, 64), ""),
    ("flash2", "backward", "bf16", 64, 3000, 30, (128, 128), ""),
    ("flash2", "backward", "bf16", 64, 5000, 16, (64, 64), "--mask causal"),
    ("flash2", "backward", "bf16", 64, 9000, 8, (64, 128), ""),
    ("flash2", "backward", "bf16", 128, 3000, 24, (64, 128), "--mask causal"),
    ("flash2", "backward", "bf16", 128, 7000, 10, (64, 64), ""),
    ("flash2", "backward", "fp16", 128, 5000, 20, (64, 128), ""),
    ("flash2", "backward", "bf16", 256, 2500, 12, (32, 64), ""),
    ("flash2", "backward", "bf16", 96, 4000, 16, (64, 128), "--mask causal"),
    ("flash2", "backward", "fp32", 64, 2000, 16, (32, 32), ""),
    ("flash1", "forward", "bf16", 64, 1500, 200, (128, 256), ""),
    ("flash1", "forward", "bf16", 64, 2500, 140, (64, 64), "--mask causal"),
    ("flash1", "forward", "bf16", 128, 1800, 150, (128, 256), ""),
    ("flash1", "forward", "bf16", 128, 1200, 264, (128, 128), "--carry fp32"),
    ("flash1", "backward", "bf16", 64, 1500, 160, (64, 128), ""),
    ("flash1", "backward", "bf16", 128, 1500, 132, (64, 128), "--mask causal"),
    ("block_sparse2", "forward", "bf16", 64, 12000, 16, (128, 128), "--block-mask uniform:0.3"),
    ("block_sparse2", "backward", "bf16", 128, 6000, 16, (64, 128), "--block-mask uniform:0.5"),
    ("standard", "forward", "bf16", 64, 3000, 24, None, ""),
    ("standard", "backward", "bf16", 128, 3000, 12, None, ""),
    ("split_kv", "forward", "bf16", 128, 1, 16, (16, 64), "--kv-len 200000"),
]


def options(problem):
    algorithm, pass_name, dtype, d, N, heads, tile, further = problem
    words = ["--algorithm", algorithm, "--pass", pass_name, "--dtype", dtype, "--head-dim", str(d),
             "--seq-len", str(N), "--heads", str(heads)]
    if tile:
        words += ["--block-rows", str(tile[0]), "--block-cols", str(tile[1])]
    return words + further.split()


def title(problem):
    algorithm, pass_name, dtype, d, N, heads, tile, further = problem
    tiles = f", {tile[0]} x {tile[1]}" if tile else ""
    return f"{algorithm} {pass_name}, {dtype}, N {N}, d {d}, {heads} heads{tiles} {further}".strip()


def run(words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def predict(cli, gpus):
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["problem", "gpu", "predicted_us", "calibrated", "dram_read_mb",
                     "dram_written_mb"])
    for problem in PROBLEMS:
        for gpu in gpus:
            tiles = [] if problem[6] else ["--tiling", "kernel"]
            simulate = options(problem) + tiles + ["--gpu", gpu, "--allow-overflow"]
            if problem[0] == "split_kv":
                simulate += ["--separate-heads"]
            document = json.loads(run([cli, "simulate", *simulate, "--json", "-"]))
            time = document["time"]
            dram = document["traffic"]["dram"]
            writer.writerow([title(problem), gpu, f"{time['predicted_s'] * 1e6:.1f}",
                             "yes" if time["calibrated"] else "no",
                             f"{dram['read_bytes'] / 1e6:.2f}",
                             f"{dram['write_bytes'] / 1e6:.2f}"])
    return out.getvalue()


def measure(cli, recording):
    for problem in PROBLEMS:
        run([cli, "measure", *options(problem), "--checked-rows", "16", "--time-budget", "1",
             "--resume", "--out", recording])


def is_of(row, problem):
    algorithm, pass_name, dtype, d, N, heads, tile, further = problem
    sizes = row["problem"]
    if tile and (row["tiling"]["Br"], row["tiling"]["Bc"]) != tile:
        return False
    if (sizes["mask"] == "causal") != ("--mask causal" in further):
        return False
    return (row["algorithm"], row["pass"], sizes["dtype"], sizes["head_dim"], sizes["seq_len"],
            sizes["heads"]) == (algorithm, pass_name, dtype, d, N, heads)


def ran_later_program(row):
    """Whether the row ran a program that was written after the predictions were committed."""
    return any("flash2_forward_hopper" in kernel["name"]
               for launch in row["launches"] for kernel in launch.get("kernels", []))


def share_of(ordered, share):
    """The smallest value that `share` of the ordered values do not exceed, as in `compare`."""
    return ordered[math.ceil(share * len(ordered)) - 1]


def compare(predictions, gpu, recording):
    predicted = {row["problem"]: row for row in csv.DictReader(open(predictions, encoding="utf-8"))
                 if row["gpu"] == gpu}
    rows = json.load(open(recording, encoding="utf-8"))["rows"]
    lines = ["| problem | predicted | recorded | error | SM clock |",
             "| --- | ---: | ---: | ---: | ---: |"]
    errors = {"calibrated": [], "not calibrated": [], "with a later program": []}
    for problem in PROBLEMS:
        row = next((row for row in rows if is_of(row, problem) and "time" in row), None)
        if row is None:
            lines.append(f"| {title(problem)} | {predicted[title(problem)]['predicted_us']} us | "
                         "not measured | | |")
            continue
        prediction = predicted[title(problem)]
        predicted_us, recorded_us = float(prediction["predicted_us"]), row["time"]["median_s"] * 1e6
        error = 100 * (predicted_us / recorded_us - 1)
        kind = "calibrated" if prediction["calibrated"] == "yes" else "not calibrated"
        if ran_later_program(row):
            kind = "with a later program"
        errors[kind].append(abs(error))
        mark = "" if kind == "calibrated" else f" ({kind})"
        clock = row["time"].get("sm_clock_hz")
        lines.append(f"| {title(problem)}{mark} | {predicted_us:.1f} us | {recorded_us:.1f} us | "
                     f"{error:+.1f} % | {f'{clock / 1e9:.2f} GHz' if clock else ''} |")
    for kind, values in errors.items():
        if values:
            values.sort()
            lines.append(f"\n{len(values)} {kind}: median {share_of(values, 0.5):.1f} %, "
                         f"90th percentile {share_of(values, 0.9):.1f} %, "
                         f"maximum {values[-1]:.1f} %")
    return "\n".join(lines)


if __name__ == "__main__":
    if len(sys.argv) > 3 and sys.argv[1] == "predict":
        print(predict(sys.argv[2], sys.argv[3:]), end="")
    elif len(sys.argv) == 4 and sys.argv[1] == "measure":
        measure(sys.argv[2], sys.argv[3])
    elif len(sys.argv) == 5 and sys.argv[1] == "compare":
        print(compare(*sys.argv[2:]))
    else:
        raise SystemExit(__doc__)
