#include "reference/one_line.h"

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

}  // namespace attnscope
