#!/usr/bin/env python3
"""AttnScope's kernels beside PyTorch's, on the same tensors, in one process and in turn.

Loads libattnscope_kernels.so, checks its numbers against PyTorch's, then times each candidate
alternately and prints one table of ratios. Protocol of the FlashAttention-2 paper: 16k tokens,
hidden size 2048 (batch = 16384 / N, heads = 2048 / d), bf16, random inputs, medians; then further
shapes, one of them with grouped heads (SHAPES).

    tests/bench/peers.py build/release/libattnscope_kernels.so --out assets/recordings/peers/h200.json

Needs an NVIDIA GPU and PyTorch. A ratio is the peer's time over ours: above 1, ours is faster. What
was left out stands there with its reason. Exit status 1, after everything is printed and written,
when an error of flash2, standard or split_kv is above twice that of unfused bf16 attention (of a
gradient: three times), or when a kernel of ours failed.
"""

import argparse
import dataclasses
import datetime
import json
import statistics
import subprocess
import sys

import torch
from attention_library import Library, Ours
from peer_attention import PEERS, Peer, check, check_gradients, error_of, exact

TOKENS = 16384
HIDDEN = 2048

# A candidate whose samples have taken this long gets no more of them, but at least LEAST_REPEATS
ENOUGH_MS = 400.0
LEAST_REPEATS = 3

# flash1 rounds O (dQ) once more in every pass over the keys: its errors are shown, and its tests
# compare it with its own model
EXEMPT = ("unfused", "flash1")

# What the table compares flash2 with besides PyTorch; a ! at the end: dQ added in a fixed order
OTHERS = ("standard", "flash1", "flash2!")


@dataclasses.dataclass
class Shape:
    d: int
    n: int
    batch: int
    heads: int
    kv_heads: int
    causal: bool = False

    def text(self):
        return f"d {self.d} N {self.n} batch {self.batch} heads {self.heads_text()} {self.mask()}"

    def heads_text(self):
        grouped = f"/{self.kv_heads}" if self.heads != self.kv_heads else ""
        return f"{self.heads}{grouped}"

    def mask(self):
        return "causal" if self.causal else "none"


def of_the_paper(d, n, causal):
    return Shape(d, n, TOKENS // n, HIDDEN // d, HIDDEN // d, causal)


# Short sequences, fewer tokens, a width that no kernel has (80), and four query heads that share
# one head of K and V
SHAPES = [
    Shape(64, 512, 32, 32, 32), Shape(128, 512, 32, 16, 16),
    Shape(64, 1024, 4, 16, 16), Shape(96, 2048, 2, 16, 16),
    Shape(128, 4096, 2, 32, 8), Shape(128, 4096, 2, 32, 8, True),
    Shape(192, 4096, 4, 8, 8), Shape(256, 2048, 16, 8, 8), Shape(80, 4096, 2, 20, 20, True),
]


def times_ms(candidates, repeats, condition=lambda: None):
    """Median milliseconds of each callable, which take turns, so that clocks affect all of them equally.
    Each runs untimed before it is timed, so that what the previous one left in L2 does not matter;
    then `condition` runs, untimed, too."""
    samples = {name: [] for name in candidates}
    for repeat in range(-2, repeats):
        for name, run in candidates.items():
            if len(samples[name]) >= LEAST_REPEATS and sum(samples[name]) > ENOUGH_MS:
                continue
            start = torch.cuda.Event(enable_timing=True)
            stop = torch.cuda.Event(enable_timing=True)
            run()
            condition()
            torch.cuda._sleep(2_000_000)  # about 1 ms: launches are enqueued before the GPU gets there
            start.record()
            run()
            stop.record()
            stop.synchronize()
            if repeat >= 0:
                samples[name].append(start.elapsed_time(stop))
    return {name: statistics.median(values) for name, values in samples.items()}


def shape_of(row):
    return Shape(row["d"], row["N"], row["batch"], row["heads"], row["kv_heads"], row["causal"])


def broken_rules(row):
    """What of ours is worse than the rule allows: lines of text."""
    where = shape_of(row).text() if "N" in row else f"d {row['d']}, decoding"
    lines, errors = [], row.get("errors", {})
    for name, error in errors.items():
        if name not in EXEMPT and not error <= 2.0 * errors["unfused"]:
            lines.append(f"{where} {name}: error {error:.2e}, unfused {errors['unfused']:.2e}")
    errors = row.get("gradient_errors", {})
    for name, of_kernel in errors.items():
        for gradient, error in of_kernel.items():
            if name not in EXEMPT and not error <= 3.0 * errors["unfused"][gradient]:
                lines.append(f"{where} {name}: error of {gradient} {error:.2e}, unfused "
                             f"{errors['unfused'][gradient]:.2e}")
    for pass_name, result in row.get("passes", {}).items():
        for name, reason in result["failures"].items():
            if name not in PEERS and "memory" not in reason:
                lines.append(f"{where} {pass_name} {name}: {reason}")
    return lines


def not_run(name, pass_name, shape):
    """Why a candidate is left out, or None. The unfused passes hold several N x N tensors: ours S
    and P, dP in the place of S; PyTorch's a third in the forward pass, and in the backward pass
    gradients and what autograd keeps."""
    if name not in ("unfused", "standard"):
        return None
    tensors = 2 if name == "standard" else 3 if pass_name == "forward" else 5
    needed = 2.0 * shape.batch * shape.heads * shape.n * shape.n * tensors
    free = torch.cuda.mem_get_info()[0] + torch.cuda.memory_reserved() - torch.cuda.memory_allocated()
    if needed < 0.95 * free:
        return None
    return f"not run: {tensors} tensors of N x N take {needed * 1e-9:.0f} GB, {free * 1e-9:.0f} are free"


def measure(library, kernels, shape, passes, repeats):
    torch.manual_seed(shape.n + shape.d)
    size = {"q": shape.heads, "k": shape.kv_heads, "v": shape.kv_heads, "dO": shape.heads}
    inputs = tuple(torch.randn(shape.batch, heads, shape.n, shape.d, device="cuda",
                               dtype=torch.bfloat16) for heads in size.values())
    row = {"N": shape.n, "d": shape.d, "batch": shape.batch, "heads": shape.heads,
           "kv_heads": shape.kv_heads, "causal": shape.causal, "passes": {}}
    for pass_name in passes:
        run_pass(library, kernels, pass_name, inputs, row, repeats)
        torch.cuda.empty_cache()
    return row


def time_round(makers, pass_name, shape, repeats):
    """Makes the candidates and times them in turn: those of ours by name, medians, failures and
    what was not run."""
    made, candidates, failures, skipped = {}, {}, {}, {}
    for name, make in makers.items():
        if reason := not_run(name, pass_name, shape):
            skipped[name] = reason
            continue
        try:
            made[name] = make()
            if pass_name == "backward":
                made[name].prepare_backward()
            getattr(made[name], pass_name)()
            torch.cuda.synchronize()
            candidates[name] = getattr(made[name], pass_name)
        except RuntimeError as error:
            failures[name] = str(error).splitlines()[0]
            made.pop(name, None)
            torch.cuda.empty_cache()
    medians = times_ms(candidates, repeats)
    return {n: m for n, m in made.items() if n not in PEERS}, medians, failures, skipped


def run_pass(library, kernels, pass_name, inputs, row, repeats):
    q, k, v, dO = inputs
    shape, causal = shape_of(row), row["causal"]
    mask = "causal" if causal else "none"
    makers = {**{name: lambda name=name: Ours(library, name, q, k, v, mask, dO)
                 for name in kernels if pass_name == "backward" or not name.endswith("!")},
              **{name: lambda name=name: Peer(PEERS[name], q, k, v, causal, dO) for name in PEERS}}
    ours, medians, failures, skipped = time_round(makers, pass_name, shape, repeats)
    torch.cuda.empty_cache()
    if ours and pass_name == "forward":
        row["errors"] = check(ours, causal)
    elif ours:
        row["gradient_errors"] = check_gradients(ours, causal)
    ours.clear()
    # A candidate that did not fit beside the others gets a round with flash2 only
    for name in list(skipped):
        torch.cuda.empty_cache()
        alone = {other: makers[other] for other in ("flash2", name) if other in makers}
        ours, again, failed, still = time_round(alone, pass_name, shape, repeats)
        ours.clear()
        failures.update(failed)
        if name not in still:
            del skipped[name]
            medians.update({name: again[name]} if name in again else {})
    flops = 4.0 * shape.batch * shape.heads * shape.n * shape.n * shape.d
    factor = (2.5 if pass_name == "backward" else 1.0) * (0.5 if causal else 1.0)
    row["passes"][pass_name] = {
        "median_ms": medians, "failures": failures, "not_run": skipped,
        "tflops": {name: factor * flops / (ms * 1e9) for name, ms in medians.items()}}


def decode(library, d, repeats, copy_rate, heads=8, keys=65536):
    """One query a head against 64k keys, L2 cold: bytes of K and V a second over the copy's."""
    q = torch.randn(1, heads, 1, d, device="cuda", dtype=torch.bfloat16)
    k, v = (torch.randn(1, heads, keys, d, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    sweep = torch.randn(1 << 26, device="cuda")  # 256 MiB, more than any L2
    ours = Ours(library, "split_kv", q, k, v, "none")
    peers = {name: Peer(backend, q, k, v, False, None) for name, backend in PEERS.items()}
    ours.forward()
    torch.cuda.synchronize()
    ref = exact(q.double(), k.double(), v.double(), None)
    candidates = {"split_kv": ours.forward, **{name: peer.forward for name, peer in peers.items()}}
    medians = times_ms(candidates, repeats, sweep.sum)
    share = {name: 2.0 * k.numel() * 2 / (ms * 1e-3) / copy_rate for name, ms in medians.items()}
    errors = {"split_kv": error_of(ours.o, ref), "unfused": error_of(peers["unfused"].forward(), ref)}
    return {"d": d, "heads": heads, "keys": keys, "median_ms": medians, "share_of_copy": share,
            "errors": errors}


def ratio_lines(rows):
    """One line a row and pass: TFLOP/s of ours, then peer time over our time."""
    lines = []
    for row in rows:
        shape = shape_of(row)
        for pass_name, result in row["passes"].items():
            ms = result["median_ms"]
            if "flash2" not in ms:
                continue
            line = [f"{shape.d}", f"{shape.n}", f"{shape.batch}", shape.heads_text(), shape.mask(),
                    pass_name, f"{result['tflops']['flash2']:.0f}"]
            for name in (*PEERS, *OTHERS):
                line.append(f"{ms[name] / ms['flash2']:.2f}" if name in ms else "-")
            lines.append(line)
    return lines


def print_table(rows):
    header = ["d", "N", "batch", "heads", "mask", "pass", "flash2 TFLOP/s",
              *(f"{p} / ours" for p in PEERS), *(f"{o} / flash2" for o in OTHERS)]
    lines = [header, *ratio_lines(rows)]
    widths = [max(len(line[c]) for line in lines) for c in range(len(header))]
    for line in lines:
        print("  ".join(cell.rjust(width) for cell, width in zip(line, widths)))


def print_means(rows, options):
    """For each pass, d and mask of the paper's rows: geometric mean and least of cuDNN's ratios."""
    for pass_name in options.passes:
        for d in options.head_dims:
            for causal in (False, True):
                shapes = [of_the_paper(d, n, causal) for n in options.lengths]
                ratios = [ms["cudnn"] / ms["flash2"] for row in rows if shape_of(row) in shapes
                          and {"cudnn", "flash2"} <= (ms := row["passes"][pass_name]["median_ms"]).keys()]
                if ratios:
                    print(f"{pass_name}, d {d} {'causal' if causal else 'none'}: cudnn / flash2, "
                          f"geometric mean {statistics.geometric_mean(ratios):.3f}, "
                          f"least {min(ratios):.3f}, of {len(ratios)}")


def print_errors(rows):
    """Largest errors of one head against fp64, forward and of the gradients."""
    for row in rows:
        for name, error in row.get("errors", {}).items():
            gradients_text = ", ".join(
                f"{gradient} {value:.1e}"
                for gradient, value in row.get("gradient_errors", {}).get(name, {}).items())
            print(f"errors, {shape_of(row).text()} {name}: O {error:.1e}"
                  f"{', ' + gradients_text if gradients_text else ''}")


def answer_of(*words):
    """What a program prints, or None where it is missing or fails."""
    try:
        answer = subprocess.run(words, capture_output=True, text=True)
    except OSError:
        return None
    return answer.stdout.strip() if answer.returncode == 0 else None


def provenance(library):
    """The device as the other recordings describe it, and the build."""
    fields = {"driver": "driver_version", "sm_mhz": "clocks.max.sm",
              "memory_mhz": "clocks.max.memory", "power_limit_w": "power.limit"}
    of_device = {}
    for name, field in fields.items():
        text = answer_of("nvidia-smi", "-i", "0", f"--query-gpu={field}",
                         "--format=csv,noheader,nounits")
        of_device[name] = text or "unavailable: nvidia-smi does not say"
    return {"driver": of_device["driver"], "cuda": torch.version.cuda,
            "clocks": {name: of_device[name] for name in ("sm_mhz", "memory_mhz")},
            "power_limit_w": of_device["power_limit_w"], "commit": library.commit(),
            "local_changes": library.has_local_changes()}


def copy_bandwidth():
    """Bytes read and written a second by a large copy."""
    a = torch.randn(1 << 28, device="cuda")
    b = torch.empty_like(a)
    ms = times_ms({"copy": lambda: b.copy_(a)}, 10)["copy"]
    return 2.0 * a.numel() * 4 / (ms * 1e-3)


def matrix_rate():
    """FLOP/s of an 8192^3 bf16 matrix product on random data."""
    a, b = (torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    ms = times_ms({"product": lambda: a @ b}, 10)["product"]
    return 2.0 * 8192**3 / (ms * 1e-3)


def print_all(rows, decoding, ceilings, options):
    print_table(rows)
    print_means(rows, options)
    print_errors(rows)
    for row in decoding:
        shares = ", ".join(f"{name} {share:.2f}" for name, share in row["share_of_copy"].items())
        print(f"decoding, d {row['d']}, {row['heads']} heads, {row['keys']} keys, share of the copy "
              f"bandwidth: {shares}; max error {row['errors']['split_kv']:.1e} "
              f"(unfused {row['errors']['unfused']:.1e})")
    print(f"copy {ceilings['copy_bytes_per_s'] * 1e-12:.2f} TB/s, "
          f"8192^3 bf16 product {ceilings['matrix_flops_per_s'] * 1e-12:.0f} TFLOP/s")
    for row in rows:
        for pass_name, result in row["passes"].items():
            for name, reason in {**result["failures"], **result["not_run"]}.items():
                print(f"{shape_of(row).text()} {pass_name} {name}: {reason}")


def parsed_options():
    def words(text):
        return text.split(",")

    def numbers(text):
        return [int(word) for word in words(text)]

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library")
    parser.add_argument("--out", help="write the numbers as JSON")
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--lengths", type=numbers, default="1024,2048,4096,8192,16384")
    parser.add_argument("--head-dims", type=numbers, default="64,96,128,192,256")
    parser.add_argument("--shapes", choices=("all", "none"), default="all",
                        help="whether the further shapes are measured too")
    parser.add_argument("--kernels", type=words, default="flash2,standard,flash1,flash2!",
                        help="names, each with tiles if not the default ones: flash2@128x128; and "
                             "with a ! where dQ is added in a fixed order, in the backward pass")
    parser.add_argument("--passes", type=words, default="forward,backward")
    return parser.parse_args()


def main():
    options = parsed_options()
    if not torch.cuda.is_available():
        sys.exit("no GPU: nothing to time")
    library = Library(options.library)
    shapes = [of_the_paper(d, n, causal) for d in options.head_dims for causal in (False, True)
              for n in options.lengths]
    shapes += SHAPES if options.shapes == "all" else []
    rows = []
    for shape in shapes:
        rows.append(measure(library, options.kernels, shape, options.passes, options.repeats))
        torch.cuda.empty_cache()
    ceilings = {"copy_bytes_per_s": copy_bandwidth(), "matrix_flops_per_s": matrix_rate()}
    decoding = [decode(library, d, options.repeats, ceilings["copy_bytes_per_s"]) for d in (64, 128)]
    print_all(rows, decoding, ceilings, options)
    if options.out:
        document = {
            "schema": "attnscope.peers/1",
            "device": torch.cuda.get_device_name(), "torch": torch.__version__,
            "cudnn": torch.backends.cudnn.version(), **provenance(library),
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "protocol": {"tokens": TOKENS, "hidden": HIDDEN, "dtype": "bf16",
                         "repeats": options.repeats, "cache": "warm",
                         "decoding_cache": "cold"},
            "ceilings": ceilings, "rows": rows, "decoding": decoding}
        with open(options.out, "w", encoding="utf-8") as file:
            json.dump(document, file, indent=1)
            file.write("\n")
    broken = [line for row in rows + decoding for line in broken_rules(row)]
    for line in broken:
        print(f"FAILED {line}")
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
