#include "tests/bench/frame_times.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace attnscope::app {

double FrameTimes::quantile_s(double share) const {
  if (seconds_.empty()) return 0.0;
  std::vector<double> sorted = seconds_;
  std::sort(sorted.begin(), sorted.end());
  const double position = share * static_cast<double>(sorted.size() - 1);
  return sorted[static_cast<std::size_t>(std::lround(position))];
}

std::string FrameTimes::summary() const {
  if (seconds_.empty()) return "no frames";
  const double median_s = quantile_s(0.5);
  return fmt::format("median {:.2f} ms ({:.0f} frames/s), 95 % within {:.2f} ms, {} frames",
                     median_s * 1e3, 1.0 / median_s, quantile_s(0.95) * 1e3, seconds_.size());
}

std::string FrameTimes::slowest_summary() const {
  if (seconds_.empty()) return "no frames";
  return fmt::format("median {:.2f} ms, 99 % within {:.2f} ms, slowest {:.2f} ms, {} frames",
                     quantile_s(0.5) * 1e3, quantile_s(0.99) * 1e3, quantile_s(1.0) * 1e3,
                     seconds_.size());
}

}  // namespace attnscope::app
