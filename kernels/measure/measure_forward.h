/// Runs and measures forward passes of the catalog's kernels. Called inside Session::run().
#pragma once

#include "kernels/measure/inputs/forward_tensors.h"
#include "kernels/measure/inputs/measured_inputs.h"
#include "kernels/measure/session.h"
#include "kernels/recording/measurement.h"

namespace attnscope::kernels {

/// Output of one pass on host inputs.
struct HostForward {
  const double* Q = nullptr;  ///< [B, H, N, d]
  const double* K = nullptr;  ///< [B, H_kv, N_kv, d]
  const double* V = nullptr;  ///< [B, H_kv, N_kv, d]
  double* O = nullptr;        ///< [B, H, N, d], written
  double* LSE = nullptr;      ///< [B, H, N], written
  TimeStatistics time;        ///< written
};

/// Runs one pass on the host's inputs, then a few more to time it.
std::optional<Error> run_forward(Session& session, const ResolvedRun& run, HostForward& host);

/// Measures time, counters and accuracy of a pass on these inputs. If counters cannot be read, the
/// measurement omits them.
Result<Measurement> measure_forward(Session& session, const ResolvedRun& run,
                                    const MeasuredInputs& inputs, const Protocol& protocol);

}  // namespace attnscope::kernels
