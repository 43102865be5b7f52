/// Microbenchmarks of a GPU for the models of DRAM traffic and time. None of them runs an attention
/// kernel. Plain C++.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "reference/measured_quantity.h"
#include "reference/result.h"

namespace attnscope {

struct CalibrationControl {
  int repeats = 11;  ///< timed repeats of each measurement, after one that warms up
  /// Receives the current step; from any thread, but calls do not overlap.
  std::function<void(std::string_view step)> progress = {};
};

/// Every quantity, available or not, in a fixed order.
struct GpuCalibration {
  double sm_clock_hz = 0;  ///< median over all timed kernels, by the SMs' own clocks
  std::vector<MeasuredQuantity> quantities;
};

namespace kernels {

class Session;

/// Runs all microbenchmarks. Called inside Session::run().
GpuCalibration calibrate(Session& session, const CalibrationControl& control);

}  // namespace kernels
}  // namespace attnscope
