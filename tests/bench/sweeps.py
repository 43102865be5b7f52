#!/usr/bin/env python3
"""The recorded sweeps as Markdown tables: head dimension, heads, sequence length, block sizes,
block density, a quarter of the tiles at every length, and decoding.

    tests/bench/sweeps.py assets/recordings/h200-sweeps.json build/release/attnscope-cli

Times and requested bytes are recorded. Peak memory is modelled: the inputs, outputs, gradients and
workspace of the pass, as attnscope-cli simulate counts them. TFLOP/s count the products' operations
on the tiles that are computed, the backward pass as 2.5 forward passes.
"""

import argparse
import functools
import itertools
import json
import subprocess

from ladder import QUARTER, READ, WRITTEN

LAUNCH_NS = "gpu__time_duration.sum"
RUNGS = ["standard", "flash1", "flash2", "block_sparse2"]


def options_of(row):
    problem, words = row["problem"], ["--algorithm", row["algorithm"], "--pass", row["pass"]]
    for option, key in {"batch": "batch", "heads": "heads", "kv-heads": "kv_heads",
                        "seq-len": "seq_len", "kv-len": "kv_len", "head-dim": "head_dim",
                        "dtype": "dtype", "mask": "mask"}.items():
        words += [f"--{option}", str(problem[key])]
    if "tiling" in row:
        words += ["--block-rows", str(row["tiling"]["Br"]), "--block-cols", str(row["tiling"]["Bc"])]
    if "block_mask" in row:
        words += ["--block-mask", row["block_mask"]]
    return words + ["--allow-overflow"]


@functools.lru_cache(maxsize=None)
def modelled(cli, words):
    answer = subprocess.run([cli, "simulate", "--json", "-", *words], capture_output=True,
                            text=True, check=True)
    return json.loads(answer.stdout)


def flops(row, model):
    """Of the products; recomputing S in the backward pass counts once, as in the papers."""
    problem = row["problem"]
    scores = problem["batch"] * problem["heads"] * problem["seq_len"] * problem["kv_len"]
    share = model["block_mask"]["density"] if "block_mask" in row else 1.0
    share *= 1.0 if problem["mask"] == "none" else 0.5
    return 4.0 * problem["head_dim"] * scores * share * (2.5 if row["pass"] == "backward" else 1.0)


def tile_sides(row):
    """(Br, Bc); a row without a tiling has none."""
    tiling = row.get("tiling")
    return (tiling["Br"], tiling["Bc"]) if tiling else None


def requested_bytes(row):
    return row["counters"][READ] + row["counters"][WRITTEN]


def milliseconds(time_s):
    return f"{time_s * 1e3:.3g}"


class Table:
    def __init__(self, title, header):
        self.title, self.header, self.lines = title, header, []

    def add(self, *cells):
        self.lines.append([str(cell) for cell in cells])

    def show(self):
        if not self.lines:
            return
        print(f"### {self.title}\n")
        print("| " + " | ".join(self.header) + " |")
        print("|" + " --- |" * len(self.header))
        for line in self.lines:
            print("| " + " | ".join(line) + " |")
        print()


class Rows:
    """The recording's rows that have a result or a reason, found by what they ran."""

    def __init__(self, recording):
        self.rows = [row for row in recording["rows"]
                     if row["carry"] == "problem" and not row.get("deterministic")]

    def all(self, algorithm, pass_, block_mask=None, **problem):
        same = {"mask": "none", "dtype": "bf16", **problem}
        return [row for row in self.rows
                if (row["algorithm"], row["pass"]) == (algorithm, pass_)
                and row.get("block_mask") == block_mask
                and all(row["problem"][key] == value for key, value in same.items())]

    def tilings(self, algorithm, pass_, **problem):
        """Every recorded (Br, Bc) of the problem, small ones first."""
        sides = {tile_sides(row) for row in self.all(algorithm, pass_, **problem)}
        return sorted(sides - {None})

    def find(self, algorithm, pass_, tiling=None, block_mask=None, **problem):
        """The row of the problem; of several tilings the first that was recorded."""
        for row in self.all(algorithm, pass_, block_mask, **problem):
            if tiling is None or tile_sides(row) == tiling:
                return row
        return None


def add_measured(table, cli, leading, row):
    if row is None:
        return
    if "time" not in row:
        table.add(*leading, row.get("failed", row.get("unavailable", "")), "", "", "")
        return
    model = modelled(cli, tuple(options_of(row)))
    time_s = row["time"]["median_s"]
    table.add(*leading, milliseconds(time_s), f"{flops(row, model) / time_s * 1e-12:.0f}",
              f"{requested_bytes(row) * 1e-9:.3g}",
              f"{model['memory']['peak_hbm_bytes'] * 1e-9:.3g}")


MEASURED = ["time, ms", "TFLOP/s", "requested GB", "peak memory, GB (modelled)"]


def show_one_by_one(rows, cli, title, key, values, fixed):
    for pass_ in ("forward", "backward"):
        table = Table(f"{title}, {pass_}", [key, "embedding", "rung", *MEASURED])
        for value in values:
            problem = {**fixed, key: value}
            for rung in RUNGS[:3]:
                add_measured(table, cli, [value, problem["heads"] * problem["head_dim"], rung],
                             rows.find(rung, pass_, **problem))
        table.show()


def show_block_sizes(rows, cli, fixed):
    table = Table("Block sizes (Figure 2, middle): batch 64, 16 heads, N 1024, d 64",
                  ["rung", "pass", "tiles", *MEASURED])
    for rung in RUNGS[1:3]:
        for pass_ in ("forward", "backward"):
            for tiling in rows.tilings(rung, pass_, **fixed):
                row = rows.find(rung, pass_, tiling=tiling, **fixed)
                add_measured(table, cli, [rung, pass_, f"{tiling[0]}x{tiling[1]}"], row)
    table.show()


def launch_time_s(row, names=None):
    """Of the launches with these names (all) by the profiler, which adds microseconds to each."""
    return sum(launch["counters"][LAUNCH_NS] for launch in row["launches"]
               if launch["counted"] and (names is None or launch["name"] in names)) * 1e-9


def density_line(table, cli, row, dense):
    """Forward: the pass against flash2's. Backward: the main launch alone, and the others."""
    density = modelled(cli, tuple(options_of(row)))["block_mask"]["density"]
    time_s, dense_s = row["time"]["median_s"], dense["time"]["median_s"]
    fixed = "-"
    if row["pass"] == "backward":
        fixed = milliseconds(launch_time_s(row, {"preprocess", "convert"}))
        of_main = [launch_time_s(r, {"backward"}) / launch_time_s(r) for r in (row, dense)]
        main_s, dense_main_s = time_s * of_main[0], dense_s * of_main[1]
    else:
        main_s, dense_main_s = time_s, dense_s
    problem = row["problem"]
    table.add(problem["seq_len"], problem["batch"] * problem["heads"], problem["head_dim"],
              f"{100 * density:.3g} %",
              milliseconds(time_s), milliseconds(dense_s), fixed, milliseconds(main_s),
              f"{100 * main_s / dense_main_s:.3g} %", f"{main_s / dense_main_s / density:.3f}")


def show_density(rows, cli):
    for pass_ in ("forward", "backward"):
        table = Table(f"Block density (Figure 2, right), {pass_}: as many tiles in every row",
                      ["N", "heads", "d", "density", "time, ms", "flash2's, ms", "other launches, ms",
                       "main launch, ms", "share of flash2's", "share / density"])
        sparse = [row for row in rows.rows if "block_mask" in row and row["pass"] == pass_
                  and row["problem"]["mask"] == "none"]
        swept = [row["problem"] for row in sparse if row["block_mask"] != QUARTER]
        for row in sparse:
            dense = rows.find("flash2", pass_, **row["problem"])
            if row["problem"] in swept and "time" in row and dense is not None and "time" in dense:
                density_line(table, cli, row, dense)
        table.show()


def show_quarter(rows, heads):
    columns = list(itertools.product(("forward", "backward"), ("none", "causal")))
    table = Table(f"A quarter of the tiles: block_sparse2, {heads} heads, batch 1; time, ms",
                  ["N", "d", *(f"{pass_}, {mask}" for pass_, mask in columns)])
    for N, d in itertools.product((2**n for n in range(9, 17)), (64, 128, 256)):
        found = [rows.find("block_sparse2", pass_, block_mask=QUARTER, batch=1, heads=heads,
                           seq_len=N, head_dim=d, mask=mask) for pass_, mask in columns]
        if any(found):
            table.add(N, d, *(milliseconds(row["time"]["median_s"])
                              if row and "time" in row else "-" for row in found))
    table.show()


def show_decoding(rows):
    table = Table("Decoding: split_kv, 1 query, 8 heads, batch 1",
                  ["keys", "d", "time, us", "requested GB", "TB/s"])
    decoding = [row for row in rows.all("split_kv", "forward", seq_len=1) if "time" in row]
    for row in sorted(decoding, key=lambda r: (r["problem"]["head_dim"], r["problem"]["kv_len"])):
        time_s, requested = row["time"]["median_s"], requested_bytes(row)
        table.add(row["problem"]["kv_len"], row["problem"]["head_dim"], f"{time_s * 1e6:.3g}",
                  f"{requested * 1e-9:.3g}", f"{requested / time_s * 1e-12:.3g}")
    table.show()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recording")
    parser.add_argument("cli", help="attnscope-cli")
    options = parser.parse_args()
    with open(options.recording, encoding="utf-8") as file:
        recording = json.load(file)
    rows = Rows(recording)
    print(f"{recording['device']['name']}, {recording['date']}; bf16, no mask, cold L2\n")
    show_one_by_one(rows, options.cli, "Head dimension: 16 heads, N 4096, batch 4", "head_dim",
                    [16, 32, 64, 96, 128, 192, 256], {"batch": 4, "heads": 16, "seq_len": 4096})
    show_one_by_one(rows, options.cli, "Number of heads: d 64, N 4096, batch 1", "heads",
                    [1, 2, 4, 8, 16, 32, 64, 128], {"batch": 1, "seq_len": 4096, "head_dim": 64})
    show_one_by_one(rows, options.cli, "Sequence length: 16 heads, d 64, batch 1", "seq_len",
                    [512, 1024, 2048, 4096, 8192, 16384], {"batch": 1, "heads": 16, "head_dim": 64})
    show_block_sizes(rows, options.cli, {"batch": 64, "heads": 16, "seq_len": 1024, "head_dim": 64})
    show_density(rows, options.cli)
    show_quarter(rows, 4)
    show_decoding(rows)


if __name__ == "__main__":
    main()
