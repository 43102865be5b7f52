/// Printing and parsing of a field's member, by its type. Internal to run_fields.cpp.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "reference/parse_number.h"
#include "reference/run_field.h"

namespace attnscope::field_access {

template <typename Value>
struct IsOptional : std::false_type {};
template <typename Value>
struct IsOptional<std::optional<Value>> : std::true_type {};

/// The value as text; "" for an unset value, a flag that is off or an empty list.
template <typename Value>
std::string text_of(const Value& value) {
  if constexpr (IsOptional<Value>::value) {
    return value ? text_of(*value) : "";
  } else if constexpr (std::is_same_v<Value, bool>) {
    return value ? "true" : "";
  } else if constexpr (std::is_same_v<Value, std::string>) {
    return value;
  } else if constexpr (std::is_same_v<Value, std::vector<Index>>) {
    return fmt::format("{}", fmt::join(value, ","));
  } else if constexpr (std::is_arithmetic_v<Value>) {
    return fmt::format("{}", value);
  } else {
    return std::string(to_string(value));
  }
}

/// The inverse of text_of() for types without their own parser; false if not understood.
template <typename Value>
bool read(std::string_view text, Value& value) {
  if constexpr (IsOptional<Value>::value) {
    typename Value::value_type one{};
    if (!text.empty() && !read(text, one)) return false;
    value = text.empty() ? Value() : Value(one);
    return true;
  } else if constexpr (std::is_same_v<Value, bool>) {
    if (!text.empty() && text != "true" && text != "false") return false;
    value = text == "true";
    return true;
  } else if constexpr (std::is_same_v<Value, std::string>) {
    value = text;
    return true;
  } else if constexpr (std::is_same_v<Value, std::vector<Index>>) {
    auto numbers = text.empty() ? Value() : parse_numbers<Index>(text).value_or(Value());
    if (numbers.empty() != text.empty()) return false;
    value = std::move(numbers);
    return true;
  } else {
    std::optional<Value> parsed;
    if constexpr (NamedEnum<Value>) {
      parsed = parse_name<Value>(text);
    } else {
      parsed = parse_number<Value>(text);
    }
    if (parsed) value = *parsed;
    return parsed.has_value();
  }
}

/// The member at the end of a path of pointers to members.
// clang-format off
template <auto... path>
auto& member(auto& spec) {
  return (spec .* ... .* path);
}
// clang-format on

/// Prints and parses a member of a RunSpec.
template <auto... path>
std::string print(const RunSpec& spec) {
  return text_of(member<path...>(spec));
}
template <auto... path>
bool parse(std::string_view text, RunSpec& spec) {
  return read(text, member<path...>(spec));
}
template <auto... path>
inline constexpr FieldAccess at = {print<path...>, parse<path...>};

/// The same for a type with its own parser.
template <auto parser, auto... path>
bool parse_with(std::string_view text, RunSpec& spec) {
  const auto value = parser(text);
  if (value) member<path...>(spec) = *value;
  return value.has_value();
}
template <auto parser, auto... path>
inline constexpr FieldAccess at_parsed = {print<path...>, parse_with<parser, path...>};

// Members whose text is not that of a single type

inline bool parse_pattern(std::string_view text, RunSpec& spec) {
  const auto pattern = parse_block_pattern(text);
  if (!pattern && !text.empty()) return false;
  spec.problem.block_mask = nullptr;  // the old mask was drawn from the previous pattern
  spec.block_mask = pattern ? std::optional(pattern.value()) : std::nullopt;
  return true;
}

inline constexpr std::string_view kStandardSlopes = "standard";

inline std::string print_slopes(const RunSpec& spec) {
  const auto& slopes = spec.problem.score.alibi_slopes;
  if (slopes.empty()) return "";
  if (slopes == standard_alibi_slopes(spec.problem.heads)) return std::string(kStandardSlopes);
  return fmt::format("{}", fmt::join(slopes, ","));
}

inline bool parse_slopes(std::string_view text, RunSpec& spec) {
  std::optional<std::vector<double>> slopes = std::vector<double>();
  const bool standard = text == kStandardSlopes || text == "true";
  if (standard && (spec.problem.heads < 1 || spec.problem.heads > kMaxHeads)) return false;
  if (standard) slopes = standard_alibi_slopes(spec.problem.heads);
  if (!standard && !text.empty()) slopes = parse_numbers<double>(text);
  if (slopes) spec.problem.score.alibi_slopes = std::move(*slopes);
  return slopes.has_value();
}

/// The kernel's name; "" for the algorithm's own kernel, which has the algorithm's name.
inline std::string print_kernel(const RunSpec& spec) {
  return spec.kernel == spec.algorithm ? "" : spec.kernel;
}

inline std::string print_switches(const RunSpec& spec) {
  std::string text;
  for (const auto& [name, value] : spec.switches) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", name, value);
  }
  return text;
}

inline bool parse_switches(std::string_view text, RunSpec& spec) {
  std::map<std::string, std::string> switches;
  for (bool more = !text.empty(); more;) {
    const std::string_view one = text.substr(0, text.find(','));
    more = one.size() < text.size();
    text.remove_prefix(std::min(text.size(), one.size() + 1));
    const std::size_t equals = one.find('=');
    if (equals == 0 || equals == one.npos || equals + 1 == one.size()) return false;
    const std::string name(one.substr(0, equals));
    if (!switches.emplace(name, one.substr(equals + 1)).second) return false;
  }
  spec.switches = std::move(switches);
  return true;
}

}  // namespace attnscope::field_access
