/// Text for messages: one line, whatever a file or a user put into it; the name nearest to a
/// mistyped one; sizes with their units. Numbers in text that a user or a file gives.
#pragma once

#include <charconv>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reference/tiling.h"

namespace attnscope {

/// The text with '?' for every control character (line breaks and escapes among them), so that it
/// neither ends the line nor moves the cursor. UTF-8; the other bytes are kept.
std::string one_line(std::string_view text);

/// Longest error message, in bytes.
inline constexpr std::size_t kMostMessageBytes = 500;

/// The text with its middle replaced with "..." where it has more than `most` bytes; whole
/// characters of UTF-8 are kept.
std::string shortened(std::string_view text, std::size_t most = kMostMessageBytes);

/// The candidate with the smallest edit distance to `name` (case ignored), or nothing when more
/// than a third of its letters differ.
std::optional<std::string> nearest_name(std::string_view name,
                                        std::span<const std::string> candidates);

/// One line for an unknown name: "unknown gpu 'h20'; did you mean 'h200'? known: b200, h200".
std::string unknown_name_message(std::string_view kind, std::string_view name,
                                 std::span<const std::string> candidates);

/// "dark, light or contrast".
std::string alternatives(std::span<const std::string_view> names);

/// The text for use inside a one-line message: control characters become '?', and text beyond 80
/// characters is cut off.
std::string printable(std::string_view text);

/// "512 B", "227 KiB", "98.05 KiB", "60 MiB": four significant digits.
std::string capacity_text(Index bytes);
/// "98.05 of 256 KiB": what is used, in the unit of the capacity.
std::string used_capacity_text(Index used_bytes, Index capacity_bytes);

/// A value scaled by a power of 1000, and the SI prefix of that power: "p" to "E".
struct Prefixed {
  double value;
  std::string_view prefix;
};

/// Scales the value so that one to three digits stand before the decimal point. `most`: the least
/// value that is printed as 1000. Values below 1 are scaled only if `small`.
Prefixed with_si_prefix(double value, double most, bool small = false);

/// The whole text as a number, whatever the locale; nothing when anything precedes or follows it,
/// or when it does not fit the type.
template <typename Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  return parsed.ec == std::errc{} && parsed.ptr == end ? std::optional(value) : std::nullopt;
}

/// Numbers separated by commas, at least one; nothing for any other text.
template <typename Number>
std::optional<std::vector<Number>> parse_numbers(std::string_view text) {
  std::vector<Number> numbers;
  while (true) {
    const std::size_t comma = text.find(',');
    const auto value = parse_number<Number>(text.substr(0, comma));
    if (!value) return std::nullopt;
    numbers.push_back(*value);
    if (comma == text.npos) return numbers;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace attnscope
