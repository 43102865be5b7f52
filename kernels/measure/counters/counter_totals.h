/// Counters of a pass from those of its launches. Plain C++.
#pragma once

#include <string_view>
#include <vector>

#include "kernels/recording/measurement.h"

namespace attnscope::kernels {

/// Whether totals include the launch: not if it only initialises or computes a result that
/// comparisons exclude.
bool is_counted(std::string_view launch);

/// Adds up the counted launches; shares (percentages) are weighted by the launches' times.
Counters total_of(const std::vector<LaunchCounters>& launches);

}  // namespace attnscope::kernels
