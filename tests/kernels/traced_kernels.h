/// Checks of traced kernels on a GPU, which share one session.
#pragma once

#include <gtest/gtest.h>

#include "kernels/measure/inputs/backward_tensors.h"
#include "kernels/measure/session.h"
#include "kernels/measure/trace/kernel_trace.h"

namespace attnscope::kernels {

/// How the recorded m, l and alpha of a forward pass are checked.
struct States {
  Index row_step = 37;
  Index splits = 1;       ///< of split_kv
  Index parts = 1;        ///< warps that share a row's keys, each with its own states
  double l_error = 1e-5;  ///< relative
};

/// Each check fails the test on an error.
class TracedKernels : public ::testing::Test {
 protected:
  static void SetUpTestSuite();
  static void TearDownTestSuite();

  static const DeviceInfo& device();
  static ProgramTarget target();

  /// Traces every row_step-th row; 0: none.
  static KernelTrace trace(const ResolvedRun& run, Index row_step);

  /// Expects every block to execute its schedule's steps. `splits` is the number that split_kv
  /// uses.
  static void expect_schedule(const ResolvedRun& run, Index splits = 1);

  /// Expects the same values in O from the plain kernel and the traced one, by default the same
  /// bits.
  static void expect_plain_output(const ResolvedRun& run, double relative_error = 0.0);
  /// Expects the same bits in dK and dV, but not in dQ, whose order of summation is random.
  static void expect_plain_key_gradients(const ResolvedRun& run);
  /// Expects the same bits in all gradients.
  static void expect_plain_gradients(const ResolvedRun& run);

  /// Expects the algorithm's m, l and alpha in double precision in every row_step-th row.
  static void expect_states(const ResolvedRun& run, const States& states = {});

  /// The number of splits of split_kv on this GPU.
  static Index splits_of(const AttentionProblem& problem);

 private:
  static std::optional<Error> run_backward(const BackwardTensors& tensors,
                                           const TraceBuffer* trace);

  static Session* session_;
};

}  // namespace attnscope::kernels
