/// libattnscope_kernels.so, loaded at run time: the real kernels for programs that do not link
/// CUDA. Everything that may be missing (library, driver, GPU, permission) is an Error.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "kernels/recording/device_info.h"
#include "kernels/recording/recording.h"
#include "kernels/trace/kernel_trace.h"
#include "reference/head_tensor.h"
#include "reference/inputs.h"
#include "reference/naive_attention.h"
#include "reference/pass_kind.h"
#include "reference/result.h"

struct attnscope_session;  // of kernels/attnscope_kernels.h

namespace attnscope {

/// Which kernel runs, and how.
struct KernelChoice {
  std::string kernel;            ///< a name of kernels/catalog.h
  std::optional<Tiling> tiling;  ///< nothing: the kernel's default
  Carry carry = Carry::problem;
  PassKind pass = PassKind::forward;  ///< forward or backward; the tiling is this pass's
  bool deterministic = false;         ///< backward: dQ is the same to the bit on every run
};

/// The row of a run before it is measured: its algorithm and tiling are those of the catalog.
/// Needs no library: RecordingWriter::find_measured() can be asked first.
RecordingRow describe_run(const AttentionProblem& problem, const KernelChoice& choice,
                          const InputSpec& inputs);

/// The inputs of a row that was measured on a user's own tensors.
inline constexpr const char* kOwnInputs = "files";

/// What one run of a kernel gave.
struct RunResult {
  HeadTensor O;         ///< [B, H, N, d]
  HeadTensor LSE;       ///< [B, H, N, 1]
  double time_s = 0.0;  ///< one pass by CUDA events, inputs in L2 as the pass before left them
};

/// What one backward pass gave.
struct GradientRun {
  Gradients gradients;
  double time_s = 0.0;  ///< the backward pass alone
};

/// An open GPU. Calls may come from any thread; they run one after the other, and wait.
class KernelLibrary {
 public:
  /// Loads the library that the variable ATTNSCOPE_KERNELS_LIBRARY names, else the one beside the
  /// program, and opens the first GPU. unavailable with the reason and the remedy.
  static Result<std::shared_ptr<KernelLibrary>> load();

  ~KernelLibrary();
  KernelLibrary(const KernelLibrary&) = delete;
  KernelLibrary& operator=(const KernelLibrary&) = delete;

  const DeviceInfo& device() const { return device_; }

  /// Runs the kernel on Q, K, V of `inputs` (dO is not used), rounded to the problem's precision.
  Result<RunResult> run_forward(const AttentionProblem& problem, const KernelChoice& choice,
                                const AttentionInputs& inputs);

  /// Runs the kernel forward and then backward on all of `inputs`.
  Result<GradientRun> run_backward(const AttentionProblem& problem, const KernelChoice& choice,
                                   const AttentionInputs& inputs);

  /// Times the choice's pass on inputs generated on the GPU, reads its counters and checks rows of
  /// its output against the reference: a recording's row, with the tiling that ran. An error is a
  /// row as well.
  RecordingRow record(const AttentionProblem& problem, const KernelChoice& choice,
                      const InputSpec& inputs, const Protocol& protocol);

  /// The same on tensors of the caller's own, rounded to the problem's precision; a backward pass
  /// needs their dO. The row's inputs are kOwnInputs.
  RecordingRow record_own(const AttentionProblem& problem, const KernelChoice& choice,
                          const AttentionInputs& inputs, const Protocol& protocol);

  /// Runs the choice's pass on inputs generated on the GPU with the instrumented build of its main
  /// launch: what each thread block did when, on which SM, and of a forward pass m, l and alpha of
  /// every row_step-th row (0: of none). invalid_request where there is no such build.
  Result<KernelTrace> trace(const AttentionProblem& problem, const KernelChoice& choice,
                            const InputSpec& inputs, Index row_step);

  /// A recording of this GPU and build without rows, dated now.
  Recording empty_recording(const Protocol& protocol) const;

 private:
  struct Functions;
  KernelLibrary() = default;

  /// The measurement that `call_pass` takes, and the tiling that ran.
  template <typename CallPass>
  Result<std::pair<Measurement, Tiling>> measure(const AttentionProblem& problem,
                                                 const KernelChoice& choice,
                                                 const Protocol& protocol,
                                                 const CallPass& call_pass);

  std::unique_ptr<const Functions> functions_;
  attnscope_session* session_ = nullptr;
  DeviceInfo device_;
};

}  // namespace attnscope
