/// Statistics of repeated timings. Plain C++.
#pragma once

#include <vector>

#include "kernels/recording/measurement.h"

namespace attnscope::kernels {

/// Minimum, median and maximum of the samples, of which there is at least one.
TimeStatistics statistics_of(std::vector<double> samples_s);

}  // namespace attnscope::kernels
