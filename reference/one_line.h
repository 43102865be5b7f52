/// Makes text from a file or a user safe to print within one line on a terminal.
#pragma once

#include <string>
#include <string_view>

namespace attnscope {

/// The text with '?' for every control character (line breaks and escapes among them), so that it
/// neither ends the line nor moves the cursor. UTF-8; the other bytes are kept.
std::string one_line(std::string_view text);

}  // namespace attnscope
