/// Statistics of repeated timings. Plain C++.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "kernels/measure/timing/sm_clock_reading.cuh"
#include "kernels/recording/measurement.h"

namespace attnscope::kernels {

/// Minimum, median and maximum of the samples, which must not be empty.
TimeStatistics statistics_of(std::vector<double> samples_s);

/// The median, in the samples' unit; `samples` must not be empty.
double median_of(std::vector<double> samples);

/// The median over the SMs of each SM's mean clock between two readings, in Hz. SMs with only one
/// reading, or whose readings do not increase, are excluded; nothing if no SM remains.
std::optional<double> mean_sm_clock_hz(std::span<const SmClockReading> before,
                                       std::span<const SmClockReading> after);

}  // namespace attnscope::kernels
