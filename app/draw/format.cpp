#include "app/draw/format.h"

#include <fmt/core.h>

#include <cmath>

#include "reference/message_text.h"

namespace attnscope::app::draw {

namespace {

constexpr double kExactBytes = 10e6;

/// Three digits: "1.23", "12.3", "123".
std::string three_digits(double value) {
  const double size = std::abs(value);
  if (size >= 99.95) return fmt::format("{:.0f}", value);
  if (size >= 9.995) return fmt::format("{:.1f}", value);
  return fmt::format("{:.2f}", value);
}

}  // namespace

std::string format_count(Index value) {
  const std::string digits = std::to_string(value);
  std::string text;
  for (std::size_t k = 0; k < digits.size(); ++k) {
    const bool after_digit = k > 0 && digits[k - 1] != '-';
    if (after_digit && (digits.size() - k) % 3 == 0) text.push_back(',');
    text.push_back(digits[k]);
  }
  return text;
}

std::string format_si(double value, const char* unit) {
  const auto [number, prefix] = with_si_prefix(value, 999.5);
  return fmt::format("{} {}{}",
                     prefix.empty() ? fmt::format("{:.4g}", number) : three_digits(number), prefix,
                     unit);
}

std::string format_bandwidth(double bytes_per_s) {
  return fmt::format("{:.3g} TB/s", bytes_per_s / 1e12);
}

std::string format_tick(double value, const char* unit) {
  const auto [number, prefix] = with_si_prefix(value, 999.5, /*small=*/true);
  return fmt::format("{:.4g} {}{}", number, prefix, unit);
}

std::string format_bytes(double bytes, bool unit) {
  if (std::abs(bytes) >= kExactBytes) return format_si(bytes, "B");
  return format_count(std::llround(bytes)) + (unit ? " B" : "");
}

std::string format_value(double value) {
  if (std::isnan(value)) return "undefined";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  if (value == 0.0) return "0";
  const double size = std::abs(value);
  if (size < 1e-3 || size >= 1e6) return fmt::format("{:.2e}", value);
  if (size >= 1000.0) return fmt::format("{:.0f}", value);
  if (size < 1.0) return fmt::format("{:.4f}", value);
  return fmt::format("{:#.4g}", value);
}

std::string format_error(double error) {
  if (error == 0.0) return "0";
  return std::isnan(error) ? "NaN" : fmt::format("{:.1e}", error);
}

std::string format_seconds(double seconds) {
  if (seconds >= 1.0) return three_digits(seconds) + " s";
  if (seconds >= 1e-3) return three_digits(seconds * 1e3) + " ms";
  if (seconds >= 1e-6) return three_digits(seconds * 1e6) + " µs";
  if (seconds >= 1e-9 || !(seconds > 0.0)) return three_digits(seconds * 1e9) + " ns";
  return seconds >= 1e-14 ? three_digits(seconds * 1e12) + " ps" : fmt::format("{:.2g} s", seconds);
}

std::string format_size(Index value) {
  constexpr Index kMega = Index{1} << 20;
  if (value >= kMega && value % kMega == 0) return fmt::format("{}M", value / kMega);
  if (value >= 1024 && value % 1024 == 0) return fmt::format("{}k", value / 1024);
  return format_count(value);
}

std::string format_factor(double factor, int digits) {
  if (factor >= 999.5) return fmt::format("{:.0f}×", factor);
  return fmt::format("{:.{}g}×", factor, digits);
}

std::string format_percent(double percent) {
  if (std::abs(percent) < 0.005) return "0 %";
  if (percent >= 899.5) return format_factor(1.0 + percent / 100.0, 4);
  if (std::abs(percent) >= 99.95) return fmt::format("{:+.0f} %", percent);
  return std::abs(percent) >= 9.995 ? fmt::format("{:+.1f} %", percent)
                                    : fmt::format("{:+.2f} %", percent);
}

std::string format_shape(Index rows, Index cols) {
  return fmt::format("{} × {}", rows, cols);
}

}  // namespace attnscope::app::draw
