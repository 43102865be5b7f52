/// A GPU that runs and measures the catalog's kernels. Plain C++, so programs without CUDA can
/// include it; anything that may be missing (driver, GPU, library, permission) is reported as an
/// Error.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "kernels/compile/compiler.h"
#include "kernels/measure/calibrate/calibrate.h"
#include "kernels/measure/needed_programs.h"
#include "kernels/measure/trace/kernel_trace.h"
#include "kernels/recording/device_info.h"
#include "kernels/recording/recording.h"
#include "reference/attention_problem.h"
#include "reference/head_tensor.h"
#include "reference/inputs.h"
#include "reference/naive_attention.h"
#include "reference/result.h"

namespace attnscope {

/// The result of one run of a kernel.
struct RunResult {
  HeadTensor O;         ///< [B, H, N, d]
  HeadTensor LSE;       ///< [B, H, N, 1]
  TimeStatistics time;  ///< of a few passes, with L2 as the previous pass left it
};

/// The result of one backward pass.
struct GradientRun {
  Gradients gradients;
  TimeStatistics time;  ///< only the backward pass
};

/// An open GPU. Any thread may call it; the calls run one after another and block until done. Runs
/// come from kernels::resolve() for its target().
class Gpu {
 public:
  /// Opens the first GPU. On failure: unavailable, with the reason and a remedy.
  static Result<std::shared_ptr<Gpu>> open();

  virtual ~Gpu() = default;
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  const DeviceInfo& device() const { return device_; }
  /// The properties of this GPU that determine the tiles and programs of a run.
  const kernels::ProgramTarget& target() const { return target_; }

  /// Compiles all kernels that this use of the run launches, several at a time, except those that
  /// are cached. The calls below would compile them too, but one by one and without reporting
  /// progress; everything should be compiled before a measurement begins.
  virtual std::optional<Error> compile(const ResolvedRun& run, kernels::RunUse use,
                                       const kernels::CompileControl& control) = 0;

  /// Runs the run's kernel on Q, K, V of `inputs` (dO is not used), rounded to the problem's
  /// precision.
  virtual Result<RunResult> run_forward(const ResolvedRun& run, const AttentionInputs& inputs) = 0;

  /// Runs the kernel forward and then backward on all of `inputs`.
  virtual Result<GradientRun> run_backward(const ResolvedRun& run,
                                           const AttentionInputs& inputs) = 0;

  /// Times the run's pass on inputs generated on the GPU, reads its counters and checks rows of its
  /// output against the reference. Returns a recording's row, with the tiling that was used; an
  /// error becomes a row, too.
  virtual RecordingRow record(const ResolvedRun& run, const Protocol& protocol) = 0;

  /// The same on the caller's tensors, rounded to the problem's precision; a backward pass also
  /// needs dO. run.files_hash identifies them.
  virtual RecordingRow record_own(const ResolvedRun& run, const AttentionInputs& inputs,
                                  const Protocol& protocol) = 0;

  /// Runs the run's pass on inputs generated on the GPU with its main launch traced: each thread
  /// block's steps, their times and its SM, and for a forward pass m, l and alpha of every
  /// row_step-th row (0: no rows). invalid_request for a kernel without a trace.
  virtual Result<KernelTrace> trace(const ResolvedRun& run, Index row_step) = 0;

  /// Compiles and runs the microbenchmarks of kernels/measure/calibrate/. failed if the GPU's
  /// memory is less than 32 times its L2.
  virtual Result<std::vector<MeasuredQuantity>> calibrate(const CalibrationControl& control) = 0;

  /// A recording of this GPU and build, dated now, without rows.
  Recording empty_recording(const Protocol& protocol) const {
    return {.device = device_, .build = build_info(), .date = utc_date(), .protocol = protocol};
  }

 protected:
  Gpu(DeviceInfo device, kernels::ProgramTarget target)
      : device_(std::move(device)), target_(std::move(target)) {}

 private:
  DeviceInfo device_;
  kernels::ProgramTarget target_;
};

}  // namespace attnscope
