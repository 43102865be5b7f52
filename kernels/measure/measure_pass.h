/// What every measurement of a pass consists of, whichever pass it is. Called inside
/// Session::run().
#pragma once

#include "kernels/measure/pass.h"
#include "kernels/measure/session.h"
#include "kernels/recording/measurement.h"

namespace attnscope::kernels {

/// Median seconds of a few passes, inputs in L2 as the pass before left them.
Result<double> quick_time_s(Session& session, const Pass& pass);

/// Times the pass, then reads its counters where the protocol asks for them. Counters that cannot
/// be read are noted with the reason.
std::optional<Error> time_and_count(Session& session, const Pass& pass, const Protocol& protocol,
                                    Measurement& measurement);

}  // namespace attnscope::kernels
