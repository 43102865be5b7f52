/// libattnscope_kernels.so, loaded at run time: the real kernels for programs that do not link
/// CUDA. Everything that may be missing (library, driver, GPU, permission) is an Error.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "kernels/recording/device_info.h"
#include "kernels/recording/recording.h"
#include "kernels/trace/kernel_trace.h"
#include "reference/attention_problem.h"
#include "reference/head_tensor.h"
#include "reference/inputs.h"
#include "reference/naive_attention.h"
#include "reference/result.h"

struct attnscope_session;  // of kernels/attnscope_kernels.h

namespace attnscope {

/// The result of one run of a kernel.
struct RunResult {
  HeadTensor O;         ///< [B, H, N, d]
  HeadTensor LSE;       ///< [B, H, N, 1]
  double time_s = 0.0;  ///< one pass by CUDA events, L2 as the previous pass left it
};

/// The result of one backward pass.
struct GradientRun {
  Gradients gradients;
  double time_s = 0.0;  ///< only the backward pass
};

/// An open GPU. Calls may come from any thread; they run one after the other, and block until done.
class KernelLibrary {
 public:
  /// Loads the library that the variable ATTNSCOPE_KERNELS_LIBRARY names, else the one beside the
  /// program, and opens the first GPU. unavailable with the reason and the remedy.
  static Result<std::shared_ptr<KernelLibrary>> load();

  ~KernelLibrary();
  KernelLibrary(const KernelLibrary&) = delete;
  KernelLibrary& operator=(const KernelLibrary&) = delete;

  const DeviceInfo& device() const { return device_; }

  /// Runs the run's kernel on Q, K, V of `inputs` (dO is not used), rounded to the problem's
  /// precision. Runs are those of kernels::resolve().
  Result<RunResult> run_forward(const ResolvedRun& run, const AttentionInputs& inputs);

  /// Runs the kernel forward and then backward on all of `inputs`.
  Result<GradientRun> run_backward(const ResolvedRun& run, const AttentionInputs& inputs);

  /// Times the run's pass on inputs generated on the GPU, reads its counters and checks rows of its
  /// output against the reference: a recording's row, with the tiling that ran. An error is a row
  /// as well.
  RecordingRow record(const ResolvedRun& run, const Protocol& protocol);

  /// The same on the caller's tensors, rounded to the problem's precision; a backward pass
  /// needs their dO. run.files_hash identifies them.
  RecordingRow record_own(const ResolvedRun& run, const AttentionInputs& inputs,
                          const Protocol& protocol);

  /// Runs the run's pass on inputs generated on the GPU with the instrumented build of its main
  /// launch: what each thread block did, when and on which SM, and for a forward pass m, l and
  /// alpha of every row_step-th row (0: of no row). invalid_request where there is no such build.
  Result<KernelTrace> trace(const ResolvedRun& run, Index row_step);

  /// A recording of this GPU and build without rows, dated now.
  Recording empty_recording(const Protocol& protocol) const;

 private:
  struct Functions;
  KernelLibrary() = default;

  /// The measurement that `call_pass` takes, and the tiling that ran.
  template <typename CallPass>
  Result<std::pair<Measurement, Tiling>> measure(const ResolvedRun& run, const Protocol& protocol,
                                                 const CallPass& call_pass);

  std::unique_ptr<const Functions> functions_;
  attnscope_session* session_ = nullptr;
  DeviceInfo device_;
};

}  // namespace attnscope
