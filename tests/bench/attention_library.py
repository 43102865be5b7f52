"""libattnscope_kernels.so from Python: the C interface's structs, and one kernel on PyTorch's tensors."""

import ctypes
import math

import torch

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
