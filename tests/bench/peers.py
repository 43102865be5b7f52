#!/usr/bin/env python3
"""AttnScope's kernels beside PyTorch's, on the same tensors, in one process and in turn.

Loads libattnscope_kernels.so, checks its numbers against PyTorch's, then times each candidate
alternately and prints one table of ratios. Protocol of the FlashAttention-2 paper: 16k tokens,
hidden size 2048 (batch = 16384 / N, heads = 2048 / d), bf16, random inputs, medians.

    tests/bench/peers.py build/release/libattnscope_kernels.so --out assets/recordings/peers.json

Needs an NVIDIA GPU and PyTorch. A ratio is the peer's time over ours: above 1, ours is faster. What
was left out stands there with its reason. Exit status 1, after everything is printed and written,
when an error of flash2, standard or split_kv is above twice that of unfused bf16 attention (of a
gradient: three times), or when a kernel of ours failed.
"""

import argparse
import ctypes
import datetime
import json
import math
import statistics
import subprocess
import sys

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

TOKENS = 16384
HIDDEN = 2048
BF16 = 2  # attnscope_dtype


class Problem(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint32), ("dtype", ctypes.c_int32),
        ("batch", ctypes.c_int64), ("heads", ctypes.c_int64), ("kv_heads", ctypes.c_int64),
        ("seq_len", ctypes.c_int64), ("kv_len", ctypes.c_int64), ("head_dim", ctypes.c_int64),
        ("mask_left", ctypes.c_int64), ("mask_right", ctypes.c_int64),
        ("mask_alignment", ctypes.c_int32), ("reserved", ctypes.c_int32),
        ("soft_cap", ctypes.c_double), ("alibi_slopes", ctypes.POINTER(ctypes.c_double)),
        ("dropout_probability", ctypes.c_double), ("dropout_seed", ctypes.c_uint64),
        ("dropout_first_batch", ctypes.c_int64), ("dropout_first_head", ctypes.c_int64),
        ("key_lengths", ctypes.POINTER(ctypes.c_int64)),
        ("cu_seqlens_q", ctypes.POINTER(ctypes.c_int64)),
        ("cu_seqlens_k", ctypes.POINTER(ctypes.c_int64)), ("sequences", ctypes.c_int64),
        ("block_mask", ctypes.POINTER(ctypes.c_uint8)),
        ("block_mask_rows", ctypes.c_int64), ("block_mask_cols", ctypes.c_int64),
        ("block_mask_tile_rows", ctypes.c_int64), ("block_mask_tile_cols", ctypes.c_int64)]


class Kernel(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint32), ("carry", ctypes.c_int32), ("name", ctypes.c_char_p),
        ("block_rows", ctypes.c_int64), ("block_cols", ctypes.c_int64),
        ("deterministic", ctypes.c_int32), ("reserved", ctypes.c_int32)]


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data_dev", ctypes.c_void_p), ("stride_batch", ctypes.c_int64),
        ("stride_head", ctypes.c_int64), ("stride_row", ctypes.c_int64)]


class Pass(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint32), ("reserved", ctypes.c_uint32),
        ("problem", ctypes.POINTER(Problem)), ("kernel", ctypes.POINTER(Kernel)),
        ("q", Tensor), ("k", Tensor), ("v", Tensor), ("o", Tensor),
        ("lse_dev", ctypes.c_void_p), ("workspace_dev", ctypes.c_void_p),
        ("workspace_bytes", ctypes.c_uint64), ("stream", ctypes.c_void_p),
        ("d_o", Tensor), ("dq", Tensor), ("dk", Tensor), ("dv", Tensor),
        ("forward_workspace_dev", ctypes.c_void_p)]


def sized(struct, **fields):
    """A struct of the C interface with its own size filled in."""
    return struct(struct_size=ctypes.sizeof(struct), **fields)


def view(tensor):
    b, h, row, last = tensor.stride()
    assert last == 1
    return Tensor(tensor.data_ptr(), b, h, row)


class Library:
    """libattnscope_kernels.so with a session on the first GPU."""

    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        self.lib.attnscope_last_message.restype = ctypes.c_char_p
        self.lib.attnscope_kernels_commit.restype = ctypes.c_char_p
        self.session = ctypes.c_void_p()
        self.call("attnscope_session_open", 0, ctypes.byref(self.session))

    def call(self, name, *arguments):
        if getattr(self.lib, name)(*arguments) != 0:
            raise RuntimeError(f"{name}: {self.lib.attnscope_last_message().decode()}")

    def commit(self):
        return self.lib.attnscope_kernels_commit().decode()

    def has_local_changes(self):
        return self.lib.attnscope_kernels_has_local_changes() != 0


class Ours:
    """One of AttnScope's kernels on given tensors."""

    def __init__(self, library, kernel, q, k, v, causal, dO=None, **fields):
        """`kernel`: its name, and behind an @ its tiles if not the default ones: "flash2@128x128".
        A ! at the end: with dQ in a fixed order. `fields`: further fields of Problem, which replace
        those set here."""
        fixed = kernel.endswith("!")
        name, _, tiles = kernel.rstrip("!").partition("@")
        rows, cols = map(int, tiles.split("x")) if tiles else (0, 0)
        self.library = library
        b, h, n, d = q.shape
        mask = {"mask_left": -1, "mask_right": 0 if causal else -1}
        self.problem = sized(Problem, dtype=BF16, batch=b, heads=h, kv_heads=k.shape[1], seq_len=n,
                             kv_len=k.shape[2], head_dim=d, **(mask | fields))
        self.kernel = sized(Kernel, name=name.encode(), block_rows=rows, block_cols=cols,
                            deterministic=int(fixed))
        self.o = torch.full_like(q, math.nan)
        self.lse = torch.full((b, h, n), math.nan, dtype=torch.float32, device=q.device)
        self.workspace = self.allocate("attnscope_forward_workspace", q.device)
        self.forward_call = sized(
            Pass, q=view(q), k=view(k), v=view(v), o=view(self.o), lse_dev=self.lse.data_ptr(),
            workspace_dev=self.workspace.data_ptr(), workspace_bytes=self.workspace.numel())
        self.forward_call.problem = ctypes.pointer(self.problem)
        self.forward_call.kernel = ctypes.pointer(self.kernel)
        self.inputs = (q, k, v, dO)
        self.backward_call = None

    def allocate(self, query, device):
        size = ctypes.c_uint64()
        self.library.call(query, ctypes.byref(self.problem), ctypes.byref(self.kernel),
                          ctypes.byref(size))
        return torch.empty(max(size.value, 256), dtype=torch.uint8, device=device)

    def forward(self):
        self.forward_call.stream = torch.cuda.current_stream().cuda_stream
        self.library.call("attnscope_forward_launch", self.library.session,
                          ctypes.byref(self.forward_call))

    def prepare_backward(self):
        q, k, v, dO = self.inputs
        self.dq, self.dk, self.dv = (torch.full_like(t, math.nan) for t in (q, k, v))
        self.backward_workspace = self.allocate("attnscope_backward_workspace", q.device)
        self.backward_call = sized(
            Pass, q=view(q), k=view(k), v=view(v), o=view(self.o), d_o=view(dO),
            dq=view(self.dq), dk=view(self.dk), dv=view(self.dv), lse_dev=self.lse.data_ptr(),
            forward_workspace_dev=self.workspace.data_ptr(),
            workspace_dev=self.backward_workspace.data_ptr(),
            workspace_bytes=self.backward_workspace.numel())
        self.backward_call.problem = ctypes.pointer(self.problem)
        self.backward_call.kernel = ctypes.pointer(self.kernel)
        self.forward()

    def backward(self):
        self.backward_call.stream = torch.cuda.current_stream().cuda_stream
        self.library.call("attnscope_backward_launch", self.library.session,
                          ctypes.byref(self.backward_call))


def causal_bias(n, device):
    """What the benchmark of the FlashAttention-2 paper adds to the scores under a causal mask."""
    return torch.full((n, n), -10000.0, dtype=torch.bfloat16, device=device).triu(1)


def unfused(q, k, v, bias):
    """matmul, softmax, matmul, each in bf16: what a framework does without a fused kernel."""
    s = torch.matmul(q * (q.shape[-1] ** -0.5), k.transpose(-2, -1))
    if bias is not None:
        s = s + bias
    return torch.matmul(torch.softmax(s, dim=-1), v)


class Peer:
    """One of PyTorch's ways to compute attention."""

    def __init__(self, backend, q, k, v, causal, dO):
        self.backend, self.causal, self.dO = backend, causal, dO
        self.leaves = [t.detach().clone().requires_grad_() for t in (q, k, v)]
        self.inputs = (q, k, v)
        self.bias = causal_bias(q.shape[2], q.device) if causal and backend is None else None
        self.out = None

    def run(self, q, k, v):
        if self.backend is None:
            return unfused(q, k, v, self.bias)
        with sdpa_kernel(self.backend):
            return F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)

    def forward(self):
        with torch.no_grad():
            return self.run(*self.inputs)

    def prepare_backward(self):
        self.out = self.run(*self.leaves)

    def backward(self):
        return torch.autograd.grad(self.out, self.leaves, self.dO, retain_graph=True)


PEERS = {"pytorch flash2": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION,
         "unfused": None}


def times_ms(candidates, repeats, condition=lambda: None):
    """Median milliseconds of each callable, which take turns, so that clocks affect all of them equally.
    `condition` runs before each, untimed."""
    samples = {name: [] for name in candidates}
    for repeat in range(-2, repeats):
        for name, run in candidates.items():
            start = torch.cuda.Event(enable_timing=True)
            stop = torch.cuda.Event(enable_timing=True)
            condition()
            torch.cuda._sleep(2_000_000)  # about 1 ms: launches are enqueued before the GPU gets there
            start.record()
            run()
            stop.record()
            stop.synchronize()
            if repeat >= 0:
                samples[name].append(start.elapsed_time(stop))
    return {name: statistics.median(values) for name, values in samples.items()}


def error_of(x, ref):
    return (x.double() - ref).abs().max().item()


def last_head(tensor):
    """[1, 1, rows, d] of a [B, H, rows, d] tensor, in fp64."""
    return tensor[-1:, -1:].detach().double()


def is_causal_hidden(rows, keys, device):
    return torch.arange(keys, device=device) > rows[:, None]


def check(ours, causal):
    """Errors against attention in fp64 of one head's first and last rows: every kernel of ours, and
    of the unfused computation of the same rows."""
    first = next(iter(ours.values()))
    q, k, v, _ = first.inputs
    rows = torch.arange(q.shape[2], device=q.device)
    rows = torch.cat([rows[:64], rows[-64:]]).unique()
    head = (slice(-1, None), slice(-1, None))
    hidden = is_causal_hidden(rows, k.shape[2], q.device) if causal else None
    qd, kd, vd = q[head][..., rows, :].double(), last_head(k), last_head(v)
    s = qd @ kd.transpose(-2, -1) * q.shape[-1] ** -0.5
    if causal:
        s = s.masked_fill(hidden, -math.inf)
    ref = torch.softmax(s, dim=-1) @ vd
    bias = torch.where(hidden, -10000.0, 0.0).to(q.dtype) if causal else None
    result = {"unfused": error_of(unfused(q[head][..., rows, :], k[head], v[head], bias), ref)}
    for name, kernel in ours.items():
        kernel.forward()
        torch.cuda.synchronize()
        result[name] = error_of(kernel.o[head][..., rows, :], ref)
    return result


def gradients(attention, q, k, v, dO):
    leaves = [t.detach().clone().requires_grad_() for t in (q, k, v)]
    return torch.autograd.grad(attention(*leaves), leaves, dO)


def check_gradients(ours, causal):
    """Errors of one head's dQ, dK and dV against gradients in fp64: every kernel of ours, and the
    unfused computation."""
    first = next(iter(ours.values()))
    n = first.inputs[0].shape[2]
    hidden = is_causal_hidden(torch.arange(n, device="cuda"), n, "cuda") if causal else None

    def exact(q, k, v):
        s = q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5
        return torch.softmax(s if hidden is None else s.masked_fill(hidden, -math.inf), dim=-1) @ v

    refs = gradients(exact, *(last_head(t) for t in first.inputs))
    bias = causal_bias(n, "cuda") if causal else None
    theirs = gradients(lambda q, k, v: unfused(q, k, v, bias),
                       *(t[-1:, -1:] for t in first.inputs))
    result = {"unfused": {name: error_of(x, ref)
                          for name, x, ref in zip(("dQ", "dK", "dV"), theirs, refs)}}
    for name, kernel in ours.items():
        kernel.backward()
        torch.cuda.synchronize()
        result[name] = {gradient: error_of(x[-1:, -1:], ref) for gradient, x, ref in
                        zip(("dQ", "dK", "dV"), (kernel.dq, kernel.dk, kernel.dv), refs)}
    return result


# flash1 rounds O (dQ) once more in every pass over the keys: its errors are shown, and its tests
# compare it with its own model
EXEMPT = ("unfused", "flash1")


def broken_rules(row):
    """What of ours is worse than the rule allows: lines of text."""
    where = f"d {row['d']} N {row.get('N', 1)} {'causal' if row.get('causal') else 'none'}"
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


def not_run(name, pass_name, n, b, h):
    """Why a candidate is left out, or None. The unfused passes hold several N x N tensors: ours S
    and P, dP in the place of S; PyTorch's a third in the forward pass, and in the backward pass
    gradients and what autograd keeps."""
    if name not in ("unfused", "standard"):
        return None
    tensors = 2 if name == "standard" else 3 if pass_name == "forward" else 5
    needed = 2.0 * b * h * n * n * tensors
    free = torch.cuda.mem_get_info()[0] + torch.cuda.memory_reserved() - torch.cuda.memory_allocated()
    if needed < 0.95 * free:
        return None
    return f"not run: {tensors} tensors of N x N take {needed * 1e-9:.0f} GB, {free * 1e-9:.0f} are free"


def measure(library, kernels, n, d, causal, passes, repeats):
    torch.manual_seed(n + d)
    b, h = TOKENS // n, HIDDEN // d
    q, k, v, dO = (torch.randn(b, h, n, d, device="cuda", dtype=torch.bfloat16) for _ in range(4))
    row = {"N": n, "d": d, "batch": b, "heads": h, "causal": causal, "passes": {}}
    flops = 4.0 * b * h * n * n * d * (0.5 if causal else 1.0)
    for pass_name in passes:
        run_pass(library, kernels, pass_name, (q, k, v, dO), row, flops, repeats)
        torch.cuda.empty_cache()
    return row


def time_round(makers, pass_name, shape, repeats):
    """Makes the candidates and times them in turn: those of ours by name, medians, failures and
    what was not run."""
    made, candidates, failures, skipped = {}, {}, {}, {}
    for name, make in makers.items():
        if reason := not_run(name, pass_name, *shape):
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


def run_pass(library, kernels, pass_name, inputs, row, flops, repeats):
    q, k, v, dO = inputs
    causal, shape = row["causal"], (row["N"], row["batch"], row["heads"])
    makers = {**{name: lambda name=name: Ours(library, name, q, k, v, causal, dO)
                 for name in kernels},
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
    factor = 2.5 if pass_name == "backward" else 1.0
    row["passes"][pass_name] = {
        "median_ms": medians, "failures": failures, "not_run": skipped,
        "tflops": {name: factor * flops / (ms * 1e9) for name, ms in medians.items()}}


def decode(library, d, repeats, copy_rate, heads=8, keys=65536):
    """One query a head against 64k keys, L2 cold: bytes of K and V a second over the copy's."""
    q = torch.randn(1, heads, 1, d, device="cuda", dtype=torch.bfloat16)
    k, v = (torch.randn(1, heads, keys, d, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    sweep = torch.randn(1 << 26, device="cuda")  # 256 MiB, more than any L2
    ours = Ours(library, "split_kv", q, k, v, False)
    peers = {name: Peer(backend, q, k, v, False, None) for name, backend in PEERS.items()}
    ours.forward()
    torch.cuda.synchronize()
    ref = torch.softmax(q.double() @ k.double().transpose(-2, -1) * d**-0.5, dim=-1) @ v.double()
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
        for pass_name, result in row["passes"].items():
            ms = result["median_ms"]
            if "flash2" not in ms:
                continue
            line = [f"{row['d']}", f"{row['N']}", "causal" if row["causal"] else "none", pass_name,
                    f"{result['tflops']['flash2']:.0f}"]
            for name in PEERS:
                line.append(f"{ms[name] / ms['flash2']:.2f}" if name in ms else "-")
            for name in ("standard", "flash1"):
                line.append(f"{ms[name] / ms['flash2']:.2f}" if name in ms else "-")
            lines.append(line)
    return lines


def print_table(rows):
    header = ["d", "N", "mask", "pass", "flash2 TFLOP/s", *(f"{p} / ours" for p in PEERS),
              "standard / flash2", "flash1 / flash2"]
    lines = [header, *ratio_lines(rows)]
    widths = [max(len(line[c]) for line in lines) for c in range(len(header))]
    for line in lines:
        print("  ".join(cell.rjust(width) for cell, width in zip(line, widths)))


def print_errors(rows):
    """Largest errors of one head against fp64, forward and of the gradients."""
    for row in rows:
        mask = "causal" if row["causal"] else "none"
        for name, error in row.get("errors", {}).items():
            gradients_text = ", ".join(
                f"{gradient} {value:.1e}"
                for gradient, value in row.get("gradient_errors", {}).get(name, {}).items())
            print(f"errors, d {row['d']} N {row['N']} {mask} {name}: O {error:.1e}"
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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library")
    parser.add_argument("--out", help="write the numbers as JSON")
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--lengths", default="1024,2048,4096,8192,16384")
    parser.add_argument("--head-dims", default="64,128")
    parser.add_argument("--more", default="64x512,128x512,256x4096",
                        help="further DxN, without a mask, flash2 and standard alone")
    parser.add_argument("--kernels", default="flash2,flash1,standard",
                        help="names, each with tiles if not the default ones: flash2@128x128; and "
                             "with a ! where dQ is added in a fixed order")
    parser.add_argument("--passes", default="forward,backward")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("no GPU: nothing to time")
    library = Library(options.library)

    rows = []
    for d in map(int, options.head_dims.split(",")):
        for causal in (False, True):
            for n in map(int, options.lengths.split(",")):
                rows.append(measure(library, options.kernels.split(","), n, d, causal,
                                    options.passes.split(","), options.repeats))
                torch.cuda.empty_cache()
    for d, n in (map(int, pair.split("x")) for pair in options.more.split(",") if pair):
        rows.append(measure(library, ["flash2", "standard"], n, d, False,
                            options.passes.split(","), options.repeats))
        torch.cuda.empty_cache()
    ceilings = {"copy_bytes_per_s": copy_bandwidth(), "matrix_flops_per_s": matrix_rate()}
    decoding = [decode(library, d, options.repeats, ceilings["copy_bytes_per_s"])
                for d in map(int, options.head_dims.split(","))]
    print_table(rows)
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
                mask = "causal" if row["causal"] else "none"
                print(f"d {row['d']} N {row['N']} {mask} {pass_name} {name}: {reason}")

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
