#include "reference/one_line.h"

#include <fmt/format.h>

namespace attnscope {

std::string one_line(std::string_view text) {
  const auto byte = [text](std::size_t at) {
    return at < text.size() ? static_cast<unsigned char>(text[at]) : 0U;
  };
  std::string line;
  line.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool is_ascii_control = byte(at) < 0x20 || byte(at) == 0x7f;
    // U+0080 to U+009F, which terminals take for escapes as well
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

  // Three quarters from the beginning, which names the place, the rest from the end
  std::size_t begin = (most - kEllipsis.size()) / 4 * 3;
  std::size_t end = text.size() - (most - kEllipsis.size()) / 4;
  for (int step = 0; step < 3 && begin > 0 && is_inside_character(begin); ++step) --begin;
  for (int step = 0; step < 3 && is_inside_character(end); ++step) ++end;
  return fmt::format("{}{}{}", text.substr(0, begin), kEllipsis, text.substr(end));
}

}  // namespace attnscope
