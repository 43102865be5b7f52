/// Text for messages: a single line, whatever a file or user input contains; the name closest to a
/// mistyped one; sizes with units.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "reference/tiling.h"

namespace attnscope {

/// The text with '?' for every control character, including line breaks and escapes, so that it
/// neither ends the line nor moves the cursor. UTF-8; other bytes are kept.
std::string one_line(std::string_view text);

/// Longest error message, in bytes.
inline constexpr std::size_t kMostMessageBytes = 500;

/// The text with its middle replaced with "..." if it has more than `most` bytes; UTF-8 characters
/// are not split.
std::string shortened(std::string_view text, std::size_t most = kMostMessageBytes);

/// The candidate with the smallest edit distance to `name` (case ignored), or nothing if more
/// than a third of its letters differ.
std::optional<std::string> nearest_name(std::string_view name,
                                        std::span<const std::string> candidates);

/// One line for an unknown name: "unknown gpu 'h20'; did you mean 'h200'? known: b200, h200".
std::string unknown_name_message(std::string_view kind, std::string_view name,
                                 std::span<const std::string> candidates);

/// The names as a choice: "dark, light or contrast".
std::string alternatives(std::span<const std::string_view> names);

/// The text for use inside a one-line message: control characters become '?', and text is truncated
/// to 80 characters.
std::string printable(std::string_view text);

/// "512 B", "227 KiB", "98.05 KiB", "60 MiB": four significant digits.
std::string capacity_text(Index bytes);
/// "98.05 of 256 KiB": the amount used, in the unit of the capacity.
std::string used_capacity_text(Index used_bytes, Index capacity_bytes);

/// A value scaled by a power of 1000, and the SI prefix of that power: "p" to "E".
struct Prefixed {
  double value;
  std::string_view prefix;
};

/// Scales the value so that it has one to three digits before the decimal point. `most`: the
/// smallest value that is printed as 1000. Values below 1 are scaled only if `small`.
Prefixed with_si_prefix(double value, double most, bool small = false);

}  // namespace attnscope
