/// Times a pass with CUDA events, and reads the SM clock during it.
#pragma once

#include "kernels/launch.h"
#include "kernels/measure/timing/conditioning.h"
#include "kernels/measure/timing/sm_clock.h"
#include "kernels/recording/measurement.h"
#include "reference/result.h"

namespace attnscope::kernels {

/// Warms up, then times the protocol's repeats, each after its conditioning: a sweep of the cache
/// (cold) or only the previous pass (warm). The statistics include the median of the repeats' SM
/// clocks, unless `sm_clock` is null.
Result<TimeStatistics> time_pass(const Stream& stream, const Conditioning& conditioning,
                                 const Pass& pass, const Protocol& protocol,
                                 const SmClock* sm_clock);

}  // namespace attnscope::kernels
