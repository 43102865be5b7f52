/// Numbers in readable form: exact if that is short, otherwise with a unit prefix.
#pragma once

#include <concepts>
#include <string>

#include "reference/attention_problem.h"

namespace attnscope::app::draw {

/// A count, exact, with thousands separators: "8,448".
std::string format_count(Index value);

/// Bytes of traffic, tensors and HBM (capacity_text() is for on-chip memory and L2): exact below 10
/// MB ("8,448 B"), else SI ("12.3 MB"). `unit` false leaves out " B" of an exact number, for
/// columns whose heading names it.
std::string format_bytes(double bytes, bool unit = true);
std::string format_bytes(std::integral auto bytes, bool unit = true) {
  return format_bytes(static_cast<double>(bytes), unit);
}

/// A value of a tensor to about four digits: "1.160", "0.3113", "1.1e-16", "-inf"; NaN is
/// "undefined".
std::string format_value(double value);

/// An error to two digits, "1.1e-16"; 0 is "0".
std::string format_error(double error);

/// Seconds with a prefix: "1.23 ms".
std::string format_seconds(double seconds);

/// Any quantity with an SI prefix: format_si(8.4e9, "FLOP") is "8.40 GFLOP".
std::string format_si(double value, const char* unit);
std::string format_si(std::integral auto value, const char* unit) {
  return format_si(static_cast<double>(value), unit);
}

/// Bytes per second: "9.12 TB/s".
std::string format_bandwidth(double bytes_per_s);

/// A round number on an axis, with an SI prefix: "100 GB", "1 ms".
std::string format_tick(double value, const char* unit);

/// Sizes on an axis: 512, 1k, 16k (1k = 1024), otherwise exact.
std::string format_size(Index value);

/// "4.02×" with at most this many digits; from 1000 on without a fraction: "14703×".
std::string format_factor(double factor, int digits);

/// "+0.02 %", "0 %".
std::string format_percent(double percent);

/// "64 × 16".
std::string format_shape(Index rows, Index cols);

}  // namespace attnscope::app::draw
