/// Everything that a pass reads and writes: device pointers with strides, a stream, a workspace. No
/// CUDA type appears here.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

#include "kernels/tensor_view.cuh"
#include "reference/run_spec.h"

namespace attnscope::kernels {

struct LaunchResources;  // kernels/launch_resources.h
struct TraceBuffer;      // kernels/device/trace_buffer.cuh

/// The tensors of a pass. A backward pass reads O and LSE as the forward pass left them.
struct PassArguments {
  LaunchResources* resources = nullptr;  ///< of the current GPU; never null
  /// The pass, its kernel and problem. If no tiling is requested, it runs in this GPU's default
  /// tiling.
  ResolvedRun run;

  TensorView Q;  ///< [B, H, N, d], the problem's precision
  TensorView K;  ///< [B, H_kv, N_kv, d]
  TensorView V;  ///< [B, H_kv, N_kv, d]
  TensorView O;  ///< [B, H, N, d], written by a forward pass
  /// [B, H, N], natural logarithm, -inf for an empty row. flash2, block_sparse2 and split_kv always
  /// write it; standard's softmax and flash1 (in a separate launch, "lse") only if this is not
  /// null.
  float* LSE_dev = nullptr;

  // For a backward pass
  TensorView dO;  ///< [B, H, N, d]
  TensorView dQ;  ///< [B, H, N, d], written
  TensorView dK;  ///< [B, H_kv, N_kv, d], written
  TensorView dV;  ///< [B, H_kv, N_kv, d], written
  /// The workspace as the forward pass left it: standard reads P there and overwrites S with dP,
  /// since no later backward pass reads S; flash1 reads m and l. flash2 and block_sparse2 do not
  /// use it.
  void* forward_workspace_dev = nullptr;

  void* workspace_dev = nullptr;  ///< aligned to 256 bytes
  std::size_t workspace_bytes = 0;
  bool workspace_is_prepared = false;  ///< prepare_workspace() has run since the last write to it
  void* stream = nullptr;              ///< cudaStream_t
  /// Called on the host around each launch of the pass with its name, so that a profiler can put a
  /// range around it: "scores", "softmax" and "output" of standard; "initialise", "forward", and,
  /// if they are needed, "convert" and "lse" of flash1; "forward" of flash2 and block_sparse2;
  /// "partial" and "combine" of split_kv. Backward: "dV", "dP", "dS", "dQ" and "dK" of standard;
  /// "initialise" and "backward" of flash1; "preprocess", "backward" and "convert" of flash2 and
  /// block_sparse2; and, where query heads share a KV head, "sum_heads". May be empty.
  std::function<void(std::string_view launch_name)> before_launch;
  std::function<void(std::string_view launch_name)> after_launch;
  /// Not null: the pass's main launch is traced and records into it.
  /// kernels/measure/trace/trace_plan.h sizes the buffer.
  const TraceBuffer* trace = nullptr;
};

}  // namespace attnscope::kernels
