"""PyTorch's ways to compute attention, and the errors of AttnScope's kernels against fp64."""

import math

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

PEERS = {"pytorch flash2": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION,
         "unfused": None}


def causal_bias(n, device):
    """What the benchmark of the FlashAttention-2 paper adds to the scores under a causal mask."""
    return torch.full((n, n), -10000.0, dtype=torch.bfloat16, device=device).triu(1)


def for_each_query_head(x, heads):
    """K or V with `heads` heads: each head of [B, H_kv, N, d] once for every query head of its
    group."""
    return x if x.shape[1] == heads else x.repeat_interleave(heads // x.shape[1], dim=1)


def unfused(q, k, v, bias):
    """matmul, softmax, matmul, each in bf16: what a framework does without a fused kernel."""
    k, v = (for_each_query_head(x, q.shape[1]) for x in (k, v))
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
            return F.scaled_dot_product_attention(q, k, v, is_causal=self.causal,
                                                  enable_gqa=k.shape[1] != q.shape[1])

    def forward(self):
        with torch.no_grad():
            return self.run(*self.inputs)

    def prepare_backward(self):
        self.out = self.run(*self.leaves)

    def backward(self):
        return torch.autograd.grad(self.out, self.leaves, self.dO, retain_graph=True)


def error_of(x, ref):
    return (x.double() - ref).abs().max().item()


def last_group(q, k):
    """The query heads of the last batch entry that share its last head of K and V, as an index."""
    return slice(-1, None), slice(-(q.shape[1] // k.shape[1]), None)


def is_causal_hidden(rows, keys, device):
    return torch.arange(keys, device=device) > rows[:, None]


def exact(q, k, v, hidden):
    """Attention in the precision of its inputs; `hidden`: which scores a mask hides, or None."""
    k, v = (for_each_query_head(x, q.shape[1]) for x in (k, v))
    s = q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5
    return torch.softmax(s if hidden is None else s.masked_fill(hidden, -math.inf), dim=-1) @ v


def check(ours, causal):
    """Errors against attention in fp64 of one head's first and last rows: every kernel of ours, and
    of the unfused computation of the same rows."""
    first = next(iter(ours.values()))
    q, k, v = (first.inputs[name] for name in "qkv")
    rows = torch.arange(q.shape[2], device=q.device)
    rows = torch.cat([rows[:64], rows[-64:]]).unique()
    head = (slice(-1, None), slice(-1, None))
    hidden = is_causal_hidden(rows, k.shape[2], q.device) if causal else None
    ref = exact(q[head][..., rows, :].double(), k[head].double(), v[head].double(), hidden)
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
    """Errors against gradients in fp64 of the last head of K and V and of the query heads that read
    it: every kernel of ours, and the unfused computation."""
    first = next(iter(ours.values()))
    q, k, v, dO = *(first.inputs[name] for name in "qkv"), first.dO
    n, group, last = q.shape[2], last_group(q, k), (slice(-1, None), slice(-1, None))
    inputs = (q[group], k[last], v[last], dO[group])
    hidden = is_causal_hidden(torch.arange(n, device="cuda"), n, "cuda") if causal else None
    refs = gradients(lambda *leaves: exact(*leaves, hidden), *(t.double() for t in inputs))
    bias = causal_bias(n, "cuda") if causal else None
    theirs = gradients(lambda *leaves: unfused(*leaves, bias), *inputs)
    names = ("dQ", "dK", "dV")
    result = {"unfused": {name: error_of(x, ref) for name, x, ref in zip(names, theirs, refs)}}
    for name, kernel in ours.items():
        kernel.backward()
        torch.cuda.synchronize()
        parts = (kernel.dq[group], kernel.dk[last], kernel.dv[last])
        result[name] = {gradient: error_of(x, ref) for gradient, x, ref in zip(names, parts, refs)}
    return result
