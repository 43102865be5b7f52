#include "app/report/number_text.h"

#include <fmt/core.h>

#include <array>
#include <cmath>

namespace attnscope {
namespace {

/// The value in the largest power of 1000 that leaves at least 1 before the point.
std::string scaled(double value, std::string_view unit) {
  constexpr std::array kPrefixes{"", "k", "M", "G", "T", "P", "E"};
  std::size_t power = 0;
  while (std::abs(value) >= 999.95 && power + 1 < kPrefixes.size()) {
    value /= 1000.0;
    ++power;
  }
  return fmt::format("{:.4g} {}{}", value, kPrefixes[power], unit);
}

}  // namespace

std::string bytes_text(double bytes) {
  return scaled(bytes, "B");
}
std::string flops_text(double flops) {
  return scaled(flops, "FLOP");
}

std::string seconds_text(double seconds) {
  if (seconds >= 1.0) return fmt::format("{:.4g} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.4g} ms", seconds * 1e3);
  return fmt::format("{:.4g} us", seconds * 1e6);
}

std::string gap_percent_text(double percent) {
  if (percent >= 900.0) return fmt::format("{:.4g} x", 1.0 + percent / 100.0);
  return fmt::format("{:+.2f} %", percent);
}

}  // namespace attnscope
