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
  /// Timed repeats of each measurement after one for warm-up; launches have five times as many.
  int repeats = 11;
  /// Receives the current step; called from any thread, but calls do not overlap.
  std::function<void(std::string_view step)> progress = {};
};

namespace kernels {

class Session;

/// Runs all microbenchmarks. Returns every quantity, available or not, in a fixed order. Called
/// inside Session::run().
std::vector<MeasuredQuantity> calibrate(Session& session, const CalibrationControl& control);

}  // namespace kernels
}  // namespace attnscope
