/// The line on standard error that shows what a command is at.
#pragma once

#include <string_view>

namespace attnscope::cli {

/// Shows the line in place of the last one. While it stays, the seconds since it was shown are
/// added, so that long work is told from a program that hangs. Nothing unless standard error is a
/// terminal. One thread at a time calls these functions.
void show_progress(std::string_view line);
void clear_progress();

}  // namespace attnscope::cli
