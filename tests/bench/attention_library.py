"""libattnscope_kernels.so from Python: the C interface, and one kernel on PyTorch's tensors."""

import ctypes
import json
import math

import torch

VERSION = 4  # ATTNSCOPE_KERNELS_VERSION

class Tensor(ctypes.Structure):
    _fields_ = [
        ("data_dev", ctypes.c_void_p), ("stride_batch", ctypes.c_int64),
        ("stride_head", ctypes.c_int64), ("stride_row", ctypes.c_int64)]


class Pass(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint64),
        ("q", Tensor), ("k", Tensor), ("v", Tensor), ("o", Tensor),
        ("lse_dev", ctypes.c_void_p), ("workspace_dev", ctypes.c_void_p),
        ("workspace_bytes", ctypes.c_uint64), ("stream", ctypes.c_void_p),
        ("d_o", Tensor), ("dq", Tensor), ("dk", Tensor), ("dv", Tensor),
        ("forward_workspace_dev", ctypes.c_void_p)]


def view(tensor):
    b, h, row, last = tensor.stride()
    assert last == 1
    return Tensor(tensor.data_ptr(), b, h, row)


class Library:
    """libattnscope_kernels.so with a session on the first GPU."""

    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        if self.lib.attnscope_kernels_version() != VERSION:
            raise RuntimeError(f"{path} has version {self.lib.attnscope_kernels_version()} of the C "
                               f"interface; this script uses version {VERSION}")
        self.lib.attnscope_last_message.restype = ctypes.c_char_p
        self.lib.attnscope_kernels_commit.restype = ctypes.c_char_p
        self.lib.attnscope_run_workspace.restype = ctypes.c_uint64
        self.lib.attnscope_run_destroy.argtypes = [ctypes.c_void_p]
        self.session = ctypes.c_void_p()
        self.call("attnscope_session_open", 0, ctypes.byref(self.session))

    def call(self, name, *arguments):
        if getattr(self.lib, name)(*arguments) != 0:
            raise RuntimeError(f"{name}: {self.lib.attnscope_last_message().decode()}")

    def commit(self):
        return self.lib.attnscope_kernels_commit().decode()

    def has_local_changes(self):
        return self.lib.attnscope_kernels_has_local_changes() != 0


class Run:
    """One pass of a kernel and its workspace; `description` as in a scene."""

    def __init__(self, library, description, device):
        self.library, self.handle = library, ctypes.c_void_p()
        library.call("attnscope_run_create", json.dumps(description).encode(),
                     ctypes.byref(self.handle))
        needed = library.lib.attnscope_run_workspace(self.handle)
        self.workspace = torch.empty(max(needed, 256), dtype=torch.uint8, device=device)

    def __del__(self):
        self.library.lib.attnscope_run_destroy(self.handle)

    def bind(self, lse, **tensors):
        """Sets the tensors that launch() passes on."""
        self.memory = Pass(struct_size=ctypes.sizeof(Pass), lse_dev=lse.data_ptr(),
                           workspace_dev=self.workspace.data_ptr(),
                           workspace_bytes=self.workspace.numel(),
                           **{name: view(tensor) for name, tensor in tensors.items()})

    def launch(self):
        self.memory.stream = torch.cuda.current_stream().cuda_stream
        self.library.call("attnscope_run_launch", self.library.session, self.handle,
                          ctypes.byref(self.memory))


class Ours:
    """One of AttnScope's kernels on given bf16 tensors."""

    def __init__(self, library, kernel, q, k, v, mask, dO=None, problem=None, **fields):
        """`kernel`: its name, and behind an @ its tiles if not the default ones: "flash2@128x128".
        A ! at the end: with dQ in a fixed order. `problem` and `fields`: more fields of the problem
        and of the run, as scenes have them."""
        name, _, tiles = kernel.rstrip("!").partition("@")
        b, h, n, d = q.shape
        self.library = library
        self.description = {
            "algorithm": name, "deterministic": kernel.endswith("!"),
            "problem": {"dtype": "bf16", "batch": b, "heads": h, "kv_heads": k.shape[1],
                        "seq_len": n, "kv_len": k.shape[2], "head_dim": d, "mask": mask,
                        **(problem or {})}, **fields}
        if tiles:
            rows, cols = map(int, tiles.split("x"))
            self.description["tiling"] = {"Br": rows, "Bc": cols}
        self.o = torch.full_like(q, math.nan)
        self.lse = torch.full((b, h, n), math.nan, dtype=torch.float32, device=q.device)
        self.inputs = {"q": q, "k": k, "v": v}
        self.dO = dO
        self.run = self.pass_run("forward")
        self.run.bind(self.lse, **self.inputs, o=self.o)
        self.backward_run = None

    def pass_run(self, pass_name):
        return Run(self.library, self.description | {"pass": pass_name}, self.o.device)

    def forward(self):
        self.run.launch()

    def prepare_backward(self):
        self.dq, self.dk, self.dv = (torch.full_like(t, math.nan) for t in self.inputs.values())
        self.backward_run = self.pass_run("backward")
        self.backward_run.bind(self.lse, **self.inputs, o=self.o, d_o=self.dO,
                               dq=self.dq, dk=self.dk, dv=self.dv)
        self.backward_run.memory.forward_workspace_dev = self.run.workspace.data_ptr()
        self.forward()

    def backward(self):
        self.backward_run.launch()
