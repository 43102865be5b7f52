/// The parts of a measurement common to forward and backward passes. Called inside
/// Session::run().
#pragma once

#include "kernels/launch.h"
#include "kernels/measure/session.h"
#include "kernels/recording/measurement.h"

namespace attnscope::kernels {

/// Times a few passes, with L2 as the previous pass left it.
Result<TimeStatistics> quick_time(Session& session, const Pass& pass);

/// Times the pass, then reads its counters and its launches' kernels if the protocol requests
/// counters. Records why something cannot be read.
std::optional<Error> time_and_count(Session& session, const Pass& pass, const Protocol& protocol,
                                    Measurement& measurement);

}  // namespace attnscope::kernels
