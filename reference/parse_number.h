/// Numbers in text from a user or a file.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <vector>

namespace attnscope {

/// The whole text as a number, whatever the locale; nothing if anything precedes or follows it,
/// or if it does not fit the type.
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
