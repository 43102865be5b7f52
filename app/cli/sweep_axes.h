/// The lists of a sweep and the points that they span.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "app/cli/command_line.h"

namespace attnscope::cli {

/// The values of one --over: the option KEY takes each in turn, or several keys change together.
struct SweepAxis {
  std::vector<std::string> keys;
  std::vector<std::vector<std::string>> values;  ///< each has one part per key
};

/// One combination of values: (key, value) pairs in the order of the axes.
using SweepPoint = std::vector<std::pair<std::string, std::string>>;

inline constexpr std::size_t kMaxSweepPoints = 100'000;

/// Reads "KEY=V1,V2,..." of each --over. A key is an option, or knob.NAME for a switch of the
/// kernel; keys that change together are written "batch+seq-len=4+512,2+1024".
/// invalid_request for a key that is not an option of the swept command or takes no value, a key
/// whose values are lists of two or more numbers, a repeated key, no values or an empty value. The
/// comma inside window:LEFT,RIGHT belongs to its value.
Result<std::vector<SweepAxis>> parse_axes(const std::vector<std::string>& texts,
                                          const CommandSpec& swept);

/// The option that sets a key of a point: "--seq-len=512", or "--knob=stages=1" for knob.stages.
std::string option_text(const std::string& key, const std::string& value);

/// Every combination of values; the last axis changes fastest. invalid_request if there are more
/// than kMaxSweepPoints.
Result<std::vector<SweepPoint>> all_points(const std::vector<SweepAxis>& axes);

}  // namespace attnscope::cli
