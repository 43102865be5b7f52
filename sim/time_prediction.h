/// A predicted time and its parts.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "reference/enum_names.h"

namespace attnscope {

/// The parts of a launch's time.
enum class TimePart : std::uint8_t {
  overhead,  ///< the launch itself
  steps,     ///< SMs at work on tiles
  waiting,   ///< SMs whose blocks only wait, for first tiles or last stores
  idle,      ///< SMs without blocks: at the end, or because there are few blocks
  l2,        ///< L2 moves bytes
  dram,      ///< DRAM moves bytes
};
inline constexpr std::size_t kTimeParts = 6;
constexpr std::array<std::string_view, kTimeParts> enum_names(TimePart) {
  return {"overhead", "steps", "waiting", "idle", "l2", "dram"};
}

using PartSeconds = std::array<double, kTimeParts>;

inline double& of(PartSeconds& parts, TimePart part) {
  return parts[static_cast<std::size_t>(part)];
}
inline double of(const PartSeconds& parts, TimePart part) {
  return parts[static_cast<std::size_t>(part)];
}

struct LaunchTime {
  std::string name;
  double seconds = 0;
  PartSeconds parts{};  ///< they add up to `seconds`

  bool operator==(const LaunchTime&) const = default;
};

struct TimePrediction {
  double seconds = 0;
  /// The SM clock, averaged over the predicted time.
  double clock_hz = 0;
  std::vector<LaunchTime> launches;
  /// The same pass predicted from the rates of the units alone, without the measured cycles of its
  /// steps.
  double primitives_s = 0;
  /// In one clause, why steps are estimated from the rates of the units rather than calibrated;
  /// empty if they are calibrated or there are none. It names fields by field_name().
  std::string uncalibrated;

  PartSeconds parts() const {
    PartSeconds sums{};
    for (const LaunchTime& launch : launches) {
      for (std::size_t n = 0; n < kTimeParts; ++n) sums[n] += launch.parts[n];
    }
    return sums;
  }
  /// The time at another SM clock: the SMs' work takes the same number of cycles. Launches, L2 and
  /// DRAM, for which blocks wait, have independent clocks.
  double seconds_at(double sm_clock_hz) const {
    const PartSeconds sums = parts();
    const double of_sms_s = of(sums, TimePart::steps) + of(sums, TimePart::idle);
    return seconds + of_sms_s * (clock_hz / sm_clock_hz - 1);
  }

  bool operator==(const TimePrediction&) const = default;
};

}  // namespace attnscope
