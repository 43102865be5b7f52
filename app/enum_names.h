/// Enums whose values have names: in scenes, in --dump-ui and on the command line.
#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace attnscope::app {

/// The names of an enum's values, in their order. Specialised beside each enum.
template <typename Enum>
inline constexpr auto kNames = nullptr;

template <typename Enum>
concept NamedEnum = requires {
  kNames<Enum>.size();
};

template <NamedEnum Enum>
std::string_view to_string(Enum value) {
  return kNames<Enum>[static_cast<std::size_t>(value)];
}

template <NamedEnum Enum>
std::optional<Enum> parse_name(std::string_view name) {
  for (std::size_t k = 0; k < kNames<Enum>.size(); ++k) {
    if (kNames<Enum>[k] == name) return static_cast<Enum>(k);
  }
  return std::nullopt;
}

/// "dark, light or contrast".
template <NamedEnum Enum>
std::string accepted_names() {
  std::string names;
  for (const std::string_view& name : kNames<Enum>) {
    const bool last = &name == &kNames<Enum>.back();
    if (!names.empty()) names += last ? " or " : ", ";
    names += name;
  }
  return names;
}

}  // namespace attnscope::app
