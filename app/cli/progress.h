/// The progress line on standard error.
#pragma once

#include <string_view>

namespace attnscope::cli {

/// Shows the line in place of the last one, and appends the seconds since then while it stays, so
/// that a user can tell slow work from a hang. Does nothing unless standard error is a terminal.
/// Only one thread at a time may call these functions.
void show_progress(std::string_view line);
void clear_progress();

}  // namespace attnscope::cli
