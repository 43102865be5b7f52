/// Makes text from a file or a user safe to print within one line on a terminal.
#pragma once

#include <string>
#include <string_view>

namespace attnscope {

/// The text with '?' for every control character (line breaks and escapes among them), so that it
/// neither ends the line nor moves the cursor. UTF-8; the other bytes are kept.
std::string one_line(std::string_view text);

/// Longest error message, in bytes.
inline constexpr std::size_t kMostMessageBytes = 500;

/// The text with its middle replaced with "..." where it has more than `most` bytes; whole
/// characters of UTF-8 are kept.
std::string shortened(std::string_view text, std::size_t most = kMostMessageBytes);

}  // namespace attnscope
