/// Ctrl+C: what a command says before a signal ends it.
#pragma once

#include <functional>
#include <string>

namespace attnscope::cli {

/// From now on SIGINT, SIGTERM, SIGHUP and SIGQUIT end the program at once, whatever it computes: a
/// thread removes temporary files, prints one line that says what is saved where standard error
/// takes it at once, and lets the signal end the program. Files under their own names are whole at
/// every moment. A signal that the caller of the program ignores stays ignored; so does SIGXFSZ, so
/// that a file that grows too large is an error. Call it before other threads start.
void end_on_signals();

/// What a signal's line speaks of.
enum class SavedResults { rows, recording };

/// Runs `step`, which saves a result and returns what the signal's line then says of these results:
/// "12 of 50 points are in r.json". A signal waits for the step, half a second at most.
void save_before_signals(SavedResults results, const std::function<std::string()>& step);

}  // namespace attnscope::cli
