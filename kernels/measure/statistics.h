/// Statistics of repeated timings. Plain C++.
#pragma once

#include <vector>

#include "kernels/recording/measurement.h"

namespace attnscope::kernels {

/// Minimum, median and maximum of the samples, which must not be empty.
TimeStatistics statistics_of(std::vector<double> samples_s);

/// The median, which takes no unit for granted; `samples` must not be empty.
double median_of(std::vector<double> samples);

}  // namespace attnscope::kernels
