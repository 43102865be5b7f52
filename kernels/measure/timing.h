/// Times a pass with CUDA events.
#pragma once

#include "kernels/measure/conditioning.h"
#include "kernels/measure/pass.h"
#include "kernels/recording/measurement.h"
#include "reference/result.h"

namespace attnscope::kernels {

/// Warms up, then times the protocol's repeats, each after its conditioning: a sweep of the cache
/// (cold) or only the previous pass (warm).
Result<TimeStatistics> time_pass(const Stream& stream, const Conditioning& conditioning,
                                 const Pass& pass, const Protocol& protocol);

}  // namespace attnscope::kernels
