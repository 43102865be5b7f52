/// A quantity of a GPU that was measured several times: a rate, a latency or a capacity.
#pragma once

#include <fmt/core.h>

#include <cstdlib>
#include <string>

namespace attnscope {

struct MeasuredQuantity {
  std::string name;  ///< ends in its unit: "dram_read_bytes_per_s"
  std::string unit;  ///< "bytes/s"
  std::string how;   ///< the measurement, in one sentence
  double value = 0;  ///< median of the repeats
  double min = 0;
  double max = 0;
  int n = 0;  ///< repeats
  /// Why there is no value, for a quantity that this GPU does not have; the numbers are then 0.
  std::string unavailable = {};

  bool is_available() const { return unavailable.empty(); }
  bool operator==(const MeasuredQuantity&) const = default;
};

/// The number with seven significant digits: far more than any measurement supports.
inline double to_seven_digits(double value) {
  return std::strtod(fmt::format("{:.6e}", value).c_str(), nullptr);
}

}  // namespace attnscope
