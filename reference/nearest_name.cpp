#include "reference/nearest_name.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <numeric>
#include <vector>

#include "reference/one_line.h"

namespace attnscope {
namespace {

char lower(char c) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

/// Levenshtein distance, case ignored.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = diagonal + (lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replace, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::optional<std::string> nearest_name(std::string_view name,
                                        std::span<const std::string> candidates) {
  constexpr std::size_t kLongestName =
      200;  // a longer text is not a misspelling, and slow to compare
  if (name.size() > kLongestName) return std::nullopt;
  std::optional<std::string> nearest;
  std::size_t smallest = 0;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(name, candidate);
    const bool is_slip = distance <= std::max<std::size_t>(1, candidate.size() / 3) &&
                         distance < name.size();  // at least one letter matches
    if (is_slip && (!nearest || distance < smallest)) {
      nearest = candidate;
      smallest = distance;
    }
  }
  return nearest;
}

std::string unknown_name_message(std::string_view kind, std::string_view name,
                                 std::span<const std::string> candidates) {
  std::string message = fmt::format("unknown {} '{}'; ", kind, printable(name));
  if (const auto nearest = nearest_name(name, candidates)) {
    message += fmt::format("did you mean '{}'? ", *nearest);
  }
  return message + fmt::format("known: {}", fmt::join(candidates, ", "));
}

std::string alternatives(std::span<const std::string_view> names) {
  std::string text;
  for (const std::string_view& name : names) {
    const bool last = &name == &names.back();
    text += text.empty() ? "" : last ? " or " : ", ";
    text += name;
  }
  return text;
}

std::string printable(std::string_view text) {
  constexpr std::size_t kMaxLength = 80;
  if (text.size() <= kMaxLength) return one_line(text);
  std::size_t length = kMaxLength;
  while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xc0) == 0x80)
    --length;  // UTF-8
  return one_line(text.substr(0, length)) + "...";
}

}  // namespace attnscope
