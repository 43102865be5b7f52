/// How exact each algorithm is, as a chart: the error against the reference as N grows.
#pragma once

#include <string>
#include <vector>

#include "app/panels/shown_chart.h"
#include "app/work_control.h"
#include "sim/accuracy.h"

namespace attnscope::app {

/// What the errors depend on: d, type, mask (causal or none), pass (forward: errors of O; backward:
/// of dQ) and the precision of flash1's O (dQ) in HBM. All else is the study's own.
using ErrorKey = RunSpec;

ErrorKey error_key(const AttentionProblem& problem, PassKind pass, Carry carry);

/// accuracy_errors() of one head, N = 64 to 512, gaussian inputs, 32 x 32 tiles.
Result<std::vector<AccuracyCase>> count_errors(const ErrorKey& key, const GpuDescription& gpu,
                                               WorkControl& control);

/// A line for each algorithm, and the unfused computation beside them.
ShownChart error_chart(const ErrorKey& key, const std::vector<AccuracyCase>& errors,
                       const Theme& theme);

}  // namespace attnscope::app
