#!/usr/bin/env python3
"""AttnScope's kernels beside PyTorch's, on the same tensors, in one process and in turn.

Loads libattnscope_kernels.so, checks its numbers against PyTorch's, then times each candidate
alternately and prints one table of ratios. Protocol of the FlashAttention-2 paper: 16k tokens,
hidden size 2048 (batch = 16384 / N, heads = 2048 / d), bf16, random inputs, medians.

    tests/bench/peers.py build/release/libattnscope_kernels.so --out assets/recordings/peers.json

Needs an NVIDIA GPU and PyTorch. A ratio is the peer's time over ours: above 1, ours is faster.
"""

import argparse
import ctypes
import datetime
import json
import math
import statistics
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
        ("mask_alignment", ctypes.c_int32), ("reserved", ctypes.c_int32)]


class Kernel(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint32), ("carry", ctypes.c_int32), ("name", ctypes.c_char_p),
        ("block_rows", ctypes.c_int64), ("block_cols", ctypes.c_int64)]


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data_dev", ctypes.c_void_p), ("stride_batch", ctypes.c_int64),
        ("stride_head", ctypes.c_int64), ("stride_row", ctypes.c_int64)]


class Forward(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint32), ("reserved", ctypes.c_uint32),
        ("problem", ctypes.POINTER(Problem)), ("kernel", ctypes.POINTER(Kernel)),
        ("q", Tensor), ("k", Tensor), ("v", Tensor), ("o", Tensor),
        ("lse_dev", ctypes.c_void_p), ("workspace_dev", ctypes.c_void_p),
        ("workspace_bytes", ctypes.c_uint64), ("stream", ctypes.c_void_p)]


class Backward(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint32), ("reserved", ctypes.c_uint32),
        ("problem", ctypes.POINTER(Problem)), ("kernel", ctypes.POINTER(Kernel)),
        ("q", Tensor), ("k", Tensor), ("v", Tensor), ("o", Tensor), ("d_o", Tensor),
        ("dq", Tensor), ("dk", Tensor), ("dv", Tensor),
        ("lse_dev", ctypes.c_void_p), ("forward_workspace_dev", ctypes.c_void_p),
        ("workspace_dev", ctypes.c_void_p), ("workspace_bytes", ctypes.c_uint64),
        ("stream", ctypes.c_void_p)]


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


class Ours:
    """One of AttnScope's kernels on given tensors."""

    def __init__(self, library, kernel, q, k, v, causal, dO=None):
        self.library = library
        b, h, n, d = q.shape
        right = 0 if causal else -1
        self.problem = sized(Problem, dtype=BF16, batch=b, heads=h, kv_heads=k.shape[1], seq_len=n,
                             kv_len=k.shape[2], head_dim=d, mask_left=-1, mask_right=right)
        self.kernel = sized(Kernel, name=kernel.encode())
        self.o = torch.full_like(q, math.nan)
        self.lse = torch.full((b, h, n), math.nan, dtype=torch.float32, device=q.device)
        self.workspace = self.allocate("attnscope_forward_workspace", q.device)
        self.forward_call = sized(
            Forward, q=view(q), k=view(k), v=view(v), o=view(self.o), lse_dev=self.lse.data_ptr(),
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
            Backward, q=view(q), k=view(k), v=view(v), o=view(self.o), d_o=view(dO),
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
    """Median milliseconds of each callable, which take turns, so that clocks meet all alike.
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


def check(ours, peers, causal):
    """Errors against attention in fp64 of one head's first and last rows: ours and the unfused."""
    q, k, v, _ = ours.inputs
    rows = torch.arange(q.shape[2], device=q.device)
    rows = torch.cat([rows[:64], rows[-64:]]).unique()
    head = (slice(-1, None), slice(-1, None))
    qd, kd, vd = q[head][..., rows, :].double(), k[head].double(), v[head].double()
    s = qd @ kd.transpose(-2, -1) * q.shape[-1] ** -0.5
    if causal:
        s = s.masked_fill(torch.arange(k.shape[2], device=q.device) > rows[:, None], -math.inf)
    ref = torch.softmax(s, dim=-1) @ vd
    ours.forward()
    torch.cuda.synchronize()
    result = {"ours": error_of(ours.o[head][..., rows, :], ref)}
    for name, peer in peers.items():
        result[name] = error_of(peer.forward()[head][..., rows, :], ref)
    return result


def check_gradients(ours, peers):
    """Largest difference from PyTorch's FlashAttention-2, over the largest gradient."""
    ours.backward()
    torch.cuda.synchronize()
    theirs = peers["pytorch flash2"].backward()
    return {name: error_of(x, y.double()) / y.abs().max().item()
            for name, x, y in zip(("dQ", "dK", "dV"), (ours.dq, ours.dk, ours.dv), theirs)}


def fits(name, n, b, h):
    """The unfused passes hold several N x N tensors."""
    scores_bytes = 2.0 * b * h * n * n
    return name not in ("unfused", "standard") or scores_bytes * 6 < 100e9


def measure(library, kernels, n, d, causal, passes, repeats):
    torch.manual_seed(n + d)
    b, h = TOKENS // n, HIDDEN // d
    q, k, v, dO = (torch.randn(b, h, n, d, device="cuda", dtype=torch.bfloat16) for _ in range(4))
    row = {"N": n, "d": d, "batch": b, "heads": h, "causal": causal, "passes": {}}
    flops = 4.0 * b * h * n * n * d * (0.5 if causal else 1.0)
    ours = {name: Ours(library, name, q, k, v, causal, dO) for name in kernels if fits(name, n, b, h)}
    peers = {name: Peer(backend, q, k, v, causal, dO) for name, backend in PEERS.items()
             if fits(name, n, b, h)}
    for pass_name in passes:
        candidates, failures = {}, {}
        for name, candidate in {**ours, **peers}.items():
            try:
                if pass_name == "backward":
                    candidate.prepare_backward()
                getattr(candidate, pass_name)()
                torch.cuda.synchronize()
                candidates[name] = getattr(candidate, pass_name)
            except RuntimeError as error:
                failures[name] = str(error).splitlines()[0]
        if pass_name == "forward":
            row["errors"] = check(ours["flash2"], peers, causal)
        elif "flash2" in candidates:
            row["gradient_differences"] = check_gradients(ours["flash2"], peers)
        medians = times_ms(candidates, repeats)
        factor = 2.5 if pass_name == "backward" else 1.0
        row["passes"][pass_name] = {
            "median_ms": medians, "failures": failures,
            "tflops": {name: factor * flops / (ms * 1e9) for name, ms in medians.items()}}
        for peer in peers.values():
            peer.out = None
    return row


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
    parser.add_argument("--kernels", default="flash2,flash1,standard")
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
    ceilings = {"copy_bytes_per_s": copy_bandwidth(), "matrix_flops_per_s": matrix_rate()}
    decoding = [decode(library, d, options.repeats, ceilings["copy_bytes_per_s"])
                for d in map(int, options.head_dims.split(","))]
    print_table(rows)
    for row in decoding:
        shares = ", ".join(f"{name} {share:.2f}" for name, share in row["share_of_copy"].items())
        print(f"decoding, d {row['d']}, {row['heads']} heads, {row['keys']} keys, share of the copy "
              f"bandwidth: {shares}; max error {row['errors']['split_kv']:.1e} "
              f"(unfused {row['errors']['unfused']:.1e})")
    print(f"copy {ceilings['copy_bytes_per_s'] * 1e-12:.2f} TB/s, "
          f"8192^3 bf16 product {ceilings['matrix_flops_per_s'] * 1e-12:.0f} TFLOP/s")
    for row in rows:
        for pass_name, result in row["passes"].items():
            for name, reason in result["failures"].items():
                print(f"d {row['d']} N {row['N']} {pass_name} {name}: {reason}")

    if options.out:
        document = {
            "schema": "attnscope.peers/1",
            "device": torch.cuda.get_device_name(), "torch": torch.__version__,
            "cudnn": torch.backends.cudnn.version(), "commit": library.commit(),
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "protocol": {"tokens": TOKENS, "hidden": HIDDEN, "dtype": "bf16",
                         "repeats": options.repeats, "cache": "warm"},
            "ceilings": ceilings, "rows": rows, "decoding": decoding}
        with open(options.out, "w", encoding="utf-8") as file:
            json.dump(document, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
