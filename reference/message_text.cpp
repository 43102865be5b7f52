#include "reference/message_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <cctype>
#include <cmath>
#include <numeric>

namespace attnscope {

std::string one_line(std::string_view text) {
  const auto byte = [text](std::size_t at) {
    return at < text.size() ? static_cast<unsigned char>(text[at]) : 0U;
  };
  std::string line;
  line.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool is_ascii_control = byte(at) < 0x20 || byte(at) == 0x7f;
    // U+0080 to U+009F, which terminals also interpret as escapes
    const bool is_wide_control = byte(at) == 0xc2 && byte(at + 1) >= 0x80 && byte(at + 1) <= 0x9f;
    line.push_back(is_ascii_control || is_wide_control ? '?' : text[at]);
    if (is_wide_control) ++at;
  }
  return line;
}

std::string shortened(std::string_view text, std::size_t most) {
  constexpr std::string_view kEllipsis = "...";
  if (text.size() <= most) return std::string(text);
  const auto is_inside_character = [text](std::size_t at) {
    return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80;
  };

  // Take three quarters of the text from the beginning, which names the location, and the rest from
  // the end
  std::size_t begin = (most - kEllipsis.size()) / 4 * 3;
  std::size_t end = text.size() - (most - kEllipsis.size()) / 4;
  for (int step = 0; step < 3 && begin > 0 && is_inside_character(begin); ++step) --begin;
  for (int step = 0; step < 3 && is_inside_character(end); ++step) ++end;
  return fmt::format("{}{}{}", text.substr(0, begin), kEllipsis, text.substr(end));
}

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
  // Longer text is not a misspelling, and is slow to compare
  constexpr std::size_t kLongestName = 200;
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
  // Cut at the beginning of a UTF-8 character
  while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xc0) == 0x80) --length;
  return one_line(text.substr(0, length)) + "...";
}

namespace {

struct Unit {
  double bytes;
  const char* name;
};

/// The largest unit in which the value is at least 1.
Unit unit_for(Index bytes) {
  if (bytes >= Index{1} << 30) return {0x1p30, "GiB"};
  if (bytes >= Index{1} << 20) return {0x1p20, "MiB"};
  if (bytes >= Index{1} << 10) return {0x1p10, "KiB"};
  return {1.0, "B"};
}

/// Four significant digits, or all digits before the decimal point.
std::string number_in(const Unit& unit, Index bytes) {
  const double value = static_cast<double>(bytes) / unit.bytes;
  return value >= 1000 ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
}

}  // namespace

std::string capacity_text(Index bytes) {
  const Unit unit = unit_for(bytes);
  return fmt::format("{} {}", number_in(unit, bytes), unit.name);
}

std::string used_capacity_text(Index used_bytes, Index capacity_bytes) {
  const Unit unit = unit_for(capacity_bytes);
  return fmt::format("{} of {} {}", number_in(unit, used_bytes), number_in(unit, capacity_bytes),
                     unit.name);
}

Prefixed with_si_prefix(double value, double most, bool small) {
  constexpr std::string_view kPrefixes[] = {"p", "n", "µ", "m", "", "k", "M", "G", "T", "P", "E"};
  std::size_t power = 4;
  for (; std::abs(value) >= most && power + 1 < std::size(kPrefixes); ++power) value /= 1000.0;
  for (; small && value != 0.0 && std::abs(value) < most / 1000.0 && power > 0; --power) {
    value *= 1000.0;
  }
  return {value, kPrefixes[power]};
}

}  // namespace attnscope
