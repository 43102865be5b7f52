#include "reference/options_text.h"

#include <fmt/format.h>

#include <string_view>

namespace attnscope {

namespace {

/// The text as one word for a shell, quoted if necessary.
std::string shell_word(std::string_view text) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:/,=+-";
  if (text.find_first_not_of(kPlain) == std::string_view::npos) return std::string(text);
  std::string word = "'";
  for (const char letter : text) {
    if (letter == '\'') {
      word.append("'\\''");
    } else {
      word.push_back(letter);
    }
  }
  word.push_back('\'');
  return word;
}

}  // namespace

std::string options_text(const RunSpec& spec, FieldTarget target) {
  std::string text;
  RunSpec given;  // by the options so far; some fields follow others
  for (const RunField& field : run_fields()) {
    const bool is_option =
        !field.option.empty() && (field.target == FieldTarget::both || field.target == target);
    const std::string value = field.print(spec);
    const bool is_required = field.key == "algorithm";
    if (!is_option || (value == field.print(given) && !is_required)) continue;
    set_field(field, value, given);
    text += fmt::format(" --{}", field.option);
    if (field.kind != FieldKind::flag) text += fmt::format(" {}", shell_word(value));
  }
  return text;
}

}  // namespace attnscope
