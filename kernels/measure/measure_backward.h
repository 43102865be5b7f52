/// Runs and measures backward passes of the catalog's kernels. Called inside Session::run().
#pragma once

#include "kernels/measure/inputs/backward_tensors.h"
#include "kernels/measure/inputs/measured_inputs.h"
#include "kernels/measure/session.h"
#include "kernels/recording/measurement.h"

namespace attnscope::kernels {

/// Gradients of one pass on host inputs.
struct HostBackward {
  const double* Q = nullptr;   ///< [B, H, N, d]
  const double* K = nullptr;   ///< [B, H_kv, N_kv, d]
  const double* V = nullptr;   ///< [B, H_kv, N_kv, d]
  const double* dO = nullptr;  ///< [B, H, N, d]
  double* dQ = nullptr;        ///< [B, H, N, d], written
  double* dK = nullptr;        ///< [B, H_kv, N_kv, d], written
  double* dV = nullptr;        ///< [B, H_kv, N_kv, d], written
  TimeStatistics time;         ///< of the backward pass only, written
};

/// Runs the kernel's forward pass, then its backward pass, which is repeated a few times to time
/// it.
std::optional<Error> run_backward(Session& session, const ResolvedRun& run, HostBackward& host);

/// Measures time, counters and accuracy of a backward pass on these inputs.
Result<Measurement> measure_backward(Session& session, const ResolvedRun& run,
                                     const MeasuredInputs& inputs, const Protocol& protocol);

}  // namespace attnscope::kernels
