/// One typed entry point for every pass of every kernel: device pointers with strides, a stream, a
/// workspace. Internal to the kernels; other programs use the C interface attnscope_kernels.h.
/// No CUDA type appears here.
#pragma once

#include <optional>

#include "kernels/pass_arguments.h"
#include "reference/result.h"

namespace attnscope::kernels {

/// Writes the read-only data of the workspace: block_sparse2's lists of tiles; other kernels have
/// none. Every launch repeats this unless workspace_is_prepared is set: call it once before a pass
/// is timed or repeated. Errors as in launch().
std::optional<Error> prepare_workspace(const PassArguments& arguments);

/// Enqueues the pass on the stream. Gradients are bit-identical on every run, except for dQ of
/// flash2 and block_sparse2 unless the run is deterministic: atomic adds sum it in an arbitrary
/// order. Returns nothing on success; invalid_request if the catalog rejects the run or the memory
/// is not suitable, unavailable if a library is missing (cuBLAS) or the GPU is too small for the
/// kernel's blocks, failed on a CUDA error.
std::optional<Error> launch(const PassArguments& arguments);

}  // namespace attnscope::kernels
