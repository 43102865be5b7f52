/// "Did you mean": the known name that a mistyped one is closest to.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace attnscope {

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

}  // namespace attnscope
