/// Foreign text, a file's field or a word that was typed, as a part of one line on a terminal.
#pragma once

#include <string>
#include <string_view>

namespace attnscope {

/// The text with '?' for every control character (line breaks and escapes among them), so that it
/// neither ends the line nor moves the cursor. UTF-8; the other bytes stay.
std::string one_line(std::string_view text);

}  // namespace attnscope
