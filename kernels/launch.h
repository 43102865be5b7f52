/// One typed entry point for every kernel: device pointers with strides, a stream, a workspace.
/// Internal to the kernels; other programs use the C interface attnscope_kernels.h.
/// No CUDA type appears here.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>

#include "kernels/catalog.h"
#include "kernels/tensor_view.cuh"
#include "reference/attention_problem.h"

namespace attnscope::kernels {

struct LaunchResources;  // kernels/launch_resources.h
struct TraceBuffer;      // kernels/device/trace_buffer.cuh

/// Everything a forward pass reads and writes.
struct ForwardArguments {
  LaunchResources* resources = nullptr;  ///< of the current GPU; never null
  AttentionProblem problem;
  std::optional<Tiling> tiling;  ///< nothing: this GPU's default
  Carry carry = Carry::problem;
  Knobs knobs = {};
  TensorView Q;  ///< [B, H, N, d], the problem's precision
  TensorView K;  ///< [B, H_kv, N_kv, d]
  TensorView V;  ///< [B, H_kv, N_kv, d]
  TensorView O;  ///< [B, H, N, d], written
  /// [B, H, N], natural logarithm, -inf for an empty row. flash2, block_sparse2 and split_kv always
  /// write it; standard's softmax and flash1 (in a separate launch, "lse") only if this is not
  /// null.
  float* LSE_dev = nullptr;
  void* workspace_dev = nullptr;
  std::size_t workspace_bytes = 0;
  bool workspace_is_prepared = false;  ///< prepare_workspace() ran after the last write to it
  void* stream = nullptr;              ///< cudaStream_t
  /// Called on the host around each launch of the pass with its name, so that a profiler can put a
  /// range around it: "scores", "softmax" and "output" of standard; "initialise", "forward", and
  /// where they are needed "convert" and "lse" of flash1; "forward" of flash2 and block_sparse2;
  /// "partial" and "combine" of split_kv. May be empty.
  std::function<void(std::string_view launch_name)> before_launch;
  std::function<void(std::string_view launch_name)> after_launch;
  /// Not null: the pass's main launch is traced and records into it.
  /// kernels/measure/trace/trace_plan.h sizes the buffer.
  const TraceBuffer* trace = nullptr;
};

/// Bytes of workspace that the kernel needs for the problem (`standard`: S and P; `flash1`: m and
/// l, and with Carry::fp32 O, in fp32; `split_kv`: O and LSE of every split in fp32;
/// `block_sparse2`: the lists of tiles). Without a tiling: enough for any default one.
std::size_t workspace_bytes(const KernelInfo& kernel, const AttentionProblem& problem,
                            const std::optional<Tiling>& tiling, Carry carry);

/// The tiling that the pass takes on the current GPU when none is requested; nothing when the
/// kernel does not take this precision and head dimension. Throws CudaError.
std::optional<Tiling> default_tiling(const KernelInfo& kernel, PassKind pass,
                                     const AttentionProblem& problem, Carry carry);

/// Enqueues the forward pass on the stream. Nothing on success; invalid_request when the catalog
/// rejects the problem, unavailable when a library is missing (cuBLAS) or the GPU is too small for
/// the kernel's blocks, failed on a CUDA error.
std::optional<Error> launch_forward(const KernelInfo& kernel, const ForwardArguments& arguments);

/// Writes the read-only data of the workspace, the lists of tiles of `block_sparse2`; other kernels
/// have none. Every launch does this again unless workspace_is_prepared: do it once before a pass
/// is timed or repeated. Errors as in launch_forward().
std::optional<Error> prepare_workspace(const KernelInfo& kernel, const ForwardArguments& arguments);

/// Everything a backward pass reads and writes. O and LSE are the forward pass's.
struct BackwardArguments {
  LaunchResources* resources = nullptr;  ///< of the current GPU; never null
  AttentionProblem problem;
  std::optional<Tiling> tiling;  ///< nothing: this GPU's default
  bool deterministic = false;    ///< dQ is bit-identical on every run
  Knobs knobs = {};
  TensorView Q;                    ///< [B, H, N, d], the problem's precision
  TensorView K;                    ///< [B, H_kv, N_kv, d]
  TensorView V;                    ///< [B, H_kv, N_kv, d]
  TensorView O;                    ///< [B, H, N, d]
  TensorView dO;                   ///< [B, H, N, d]
  const float* LSE_dev = nullptr;  ///< [B, H, N], natural logarithm, -inf for an empty row
  /// The workspace as the forward pass left it: standard reads P there and overwrites S with dP,
  /// since no later backward pass reads S; flash1 reads m and l. flash2 and block_sparse2 do not
  /// use it.
  void* forward_workspace_dev = nullptr;
  TensorView dQ;                  ///< [B, H, N, d], written
  TensorView dK;                  ///< [B, H_kv, N_kv, d], written
  TensorView dV;                  ///< [B, H_kv, N_kv, d], written
  void* workspace_dev = nullptr;  ///< aligned to 256 bytes
  std::size_t workspace_bytes = 0;
  bool workspace_is_prepared = false;  ///< as in ForwardArguments
  void* stream = nullptr;              ///< cudaStream_t
  /// As in ForwardArguments. standard's launches are "dV", "dP", "dS", "dQ" and "dK"; flash1's
  /// "initialise" and "backward"; flash2's and block_sparse2's "preprocess", "backward" and
  /// "convert"; and, where query heads share a KV head, "sum_heads".
  std::function<void(std::string_view launch_name)> before_launch;
  std::function<void(std::string_view launch_name)> after_launch;
  const TraceBuffer* trace = nullptr;  ///< as in ForwardArguments
};

/// Bytes of workspace that the kernel's backward pass needs for the problem (dP of `standard` with
/// a soft cap; D and dQ_accum in fp32 of `flash2`, the turns of a deterministic dQ, and the lists
/// of tiles of `block_sparse2`; where query heads share a KV head, each query head's dK and dV).
std::size_t backward_workspace_bytes(const KernelInfo& kernel, const AttentionProblem& problem,
                                     const std::optional<Tiling>& tiling);

/// The same for the backward pass.
std::optional<Error> prepare_workspace(const KernelInfo& kernel,
                                       const BackwardArguments& arguments);

/// Enqueues the backward pass on the stream. Gradients are bit-identical on every run, except for
/// dQ of flash2 and block_sparse2 unless `deterministic` is set: atomic adds sum it in an arbitrary
/// order. Nothing on success; invalid_request when the catalog rejects the problem, failed on a
/// CUDA error.
std::optional<Error> launch_backward(const KernelInfo& kernel, const BackwardArguments& arguments);

}  // namespace attnscope::kernels
