/// Enums whose values have names, on the command line, in files and in tables.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace attnscope {

/// An enum with a function `enum_names(Enum)` beside it: an array of the names of its values, in
/// their order.
template <typename Enum>
concept NamedEnum = requires(Enum value) {
  enum_names(value).size();
};

/// Splits a list of names: "row sums, exp".
template <std::size_t count>
constexpr std::array<std::string_view, count> split_names(std::string_view list) {
  std::array<std::string_view, count> names;
  for (std::string_view& name : names) {
    name = list.substr(0, list.find(", "));
    list.remove_prefix(std::min(list.size(), name.size() + 2));
  }
  return names;
}

template <NamedEnum Enum>
std::string_view to_string(Enum value) {
  static constexpr auto kNames = enum_names(Enum{});
  return kNames[static_cast<std::size_t>(value)];
}

/// The value with this name; nothing if there is none.
template <NamedEnum Enum>
std::optional<Enum> parse_name(std::string_view name) {
  static constexpr auto kNames = enum_names(Enum{});
  for (std::size_t k = 0; k < kNames.size(); ++k) {
    if (kNames[k] == name) return static_cast<Enum>(k);
  }
  return std::nullopt;
}

}  // namespace attnscope
