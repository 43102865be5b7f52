/// One typed entry point for every pass of every kernel: device pointers with strides, a stream, a
/// workspace. Internal to the kernels; other programs use the C interface attnscope_kernels.h. No
/// CUDA type appears here.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>

#include "kernels/tensor_view.cuh"
#include "reference/result.h"
#include "reference/run_spec.h"

namespace attnscope::kernels {

struct LaunchResources;  // kernels/launch_resources.h
struct TraceBuffer;      // kernels/device/trace_buffer.cuh

/// Everything that a pass reads and writes. A backward pass reads O and LSE as the forward pass
/// left them.
struct PassArguments {
  LaunchResources* resources = nullptr;  ///< of the current GPU; never null
  /// The pass, its kernel and problem. If no tiling is requested, it runs in this GPU's default
  /// tiling.
  ResolvedRun run;

  TensorView Q, O;  ///< [B, H, N, d] in the problem's precision; a forward pass writes O
  TensorView K, V;  ///< [B, H_kv, N_kv, d]
  /// [B, H, N], natural logarithm, -inf for an empty row. flash2, block_sparse2 and split_kv always
  /// write it; standard's softmax and flash1 (in a separate launch, "lse") only if this is not
  /// null.
  float* LSE_dev = nullptr;

  // For a backward pass
  TensorView dO, dQ;  ///< [B, H, N, d]; dQ is written
  TensorView dK, dV;  ///< [B, H_kv, N_kv, d], written
  /// The workspace as the forward pass left it: standard reads P there and overwrites S with dP,
  /// since no later backward pass reads S; flash1 reads m and l. flash2 and block_sparse2 do not
  /// use it.
  void* forward_workspace_dev = nullptr;

  void* workspace_dev = nullptr;  ///< aligned to 256 bytes
  std::size_t workspace_bytes = 0;
  void* stream = nullptr;  ///< cudaStream_t
  /// Not null: the pass's main launch is traced and records into it.
  /// kernels/measure/trace/trace_plan.h sizes the buffer.
  const TraceBuffer* trace = nullptr;
};

/// Called on the host around each launch of a pass, with its name: as in programs_of(), or
/// "scores", "output", "dV", "dP", "dQ" and "dK" for standard's products by cuBLAS. Either may be
/// empty.
struct LaunchMarks {
  std::function<void(std::string_view launch_name)> before = {}, after = {};
};

/// Enqueues a pass on its stream, any number of times. Gradients are bit-identical on every call,
/// except for dQ of flash2 and block_sparse2 unless the run is deterministic: atomic adds sum it in
/// an arbitrary order. Returns nothing on success; invalid_request if the catalog rejects the run
/// or a switch, or the memory is not suitable, unavailable if a library is missing (cuBLAS) or the
/// GPU is too small for the kernel's blocks, failed on a CUDA error. One thread at a time may call
/// a pass or its copies; the resources, the trace and all memory of its arguments must outlive it.
using Pass = std::function<std::optional<Error>(const LaunchMarks& marks)>;

/// Checks the arguments, chooses the tiling for the current GPU and uploads the pass's arrays, once
/// for all calls of the result. If that fails, every call returns the error.
Pass prepared_pass(const PassArguments& arguments);

/// Prepares the pass, and enqueues it once.
std::optional<Error> launch(const PassArguments& arguments);

}  // namespace attnscope::kernels
