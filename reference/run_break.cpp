#include "reference/run_break.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "reference/parse_number.h"

namespace attnscope {

namespace {

constexpr std::string_view kDrop = "drop:";
constexpr Index kMostLines = 255;

bool is_name(std::string_view text) {
  const auto is_part = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !text.empty() && std::ranges::all_of(text, is_part);
}

std::vector<std::string_view> parts_of(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == text.npos) return parts;
    text.remove_prefix(end + 1);
  }
}

/// A whole number of at least `least`.
std::optional<Index> number_from(std::string_view text, Index least, Index most) {
  const auto number = parse_number<Index>(text);
  return number && *number >= least && *number <= most ? number : std::nullopt;
}

/// Parses "2.0": the first execution in thread block 2.
std::optional<Occurrence> parse_occurrence(std::string_view text) {
  constexpr Index kMost = Index{1} << 40;
  const auto parts = parts_of(text, '.');
  if (parts.size() != 2) return std::nullopt;
  const auto block = number_from(parts[0], 0, kMost);
  const auto time = number_from(parts[1], 0, kMost);
  if (!block || !time) return std::nullopt;
  return Occurrence{*block, *time};
}

/// Parses "forward:14", "forward:rescale:O", "forward:14:rescale:O", the last two optionally with
/// "@BLOCK.TIME".
std::optional<DroppedOp> parse_dropped(std::string_view text) {
  DroppedOp dropped;
  const std::size_t at = text.find('@');
  if (at != text.npos) {
    dropped.only = parse_occurrence(text.substr(at + 1));
    if (!dropped.only) return std::nullopt;
  }
  auto parts = parts_of(text.substr(0, at), ':');
  if (parts.size() < 2 || !is_name(parts[0])) return std::nullopt;
  dropped.launch = parts[0];
  parts.erase(parts.begin());
  if (parts.size() != 2) {
    const auto line = number_from(parts[0], 1, kMostLines);
    if (!line) return std::nullopt;
    dropped.line = *line;
    parts.erase(parts.begin());
  }
  if (parts.empty()) return dropped.only ? std::nullopt : std::optional(dropped);
  if (parts.size() != 2 || !std::ranges::all_of(parts, is_name)) return std::nullopt;
  dropped.kind = parts[0];
  dropped.tensor = parts[1];
  return dropped;
}

}  // namespace

std::string to_string(const RunBreak& broken) {
  if (broken.replaces()) {
    return fmt::format("{}={}", broken.replaced.tensor, broken.replaced.value);
  }
  if (!broken.drops()) return "";
  const DroppedOp& dropped = broken.dropped;
  std::string text = fmt::format("{}{}", kDrop, dropped.launch);
  if (dropped.line > 0) text += fmt::format(":{}", dropped.line);
  if (!dropped.kind.empty()) text += fmt::format(":{}:{}", dropped.kind, dropped.tensor);
  if (dropped.only) text += fmt::format("@{}.{}", dropped.only->block, dropped.only->time);
  return text;
}

std::optional<RunBreak> parse_run_break(std::string_view text) {
  RunBreak broken;
  if (text.empty()) return broken;
  if (text.starts_with(kDrop)) {
    const auto dropped = parse_dropped(text.substr(kDrop.size()));
    if (!dropped) return std::nullopt;
    broken.dropped = *dropped;
    return broken;
  }
  const auto parts = parts_of(text, '=');
  const bool has_value = parts.size() == 2 && (parts[1] == "0" || parts[1] == "1");
  if (!has_value || !is_name(parts[0])) return std::nullopt;
  broken.replaced = {std::string(parts[0]), parts[1] == "1" ? 1 : 0};
  return broken;
}

}  // namespace attnscope
