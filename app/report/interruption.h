/// How both programs start and end, and the message that they print before a signal ends them.
#pragma once

#include <functional>
#include <string>

#include "reference/result.h"

namespace attnscope {

/// From now on SIGINT, SIGTERM, SIGHUP and SIGQUIT end the program at once, whatever it is doing: a
/// thread removes temporary files, prints one line that states what is saved (unless that would
/// block), and ends the program by the signal. Files under their final names are always complete. A
/// signal that the caller of the program ignores stays ignored; so does SIGXFSZ, so that a file
/// that grows too large is an error. Call it before other threads start.
void end_on_signals();

/// The results that the signal's message describes.
enum class SavedResults { rows, recording };

/// Runs `step`, which saves a result and returns the text about the saved results that any later
/// signal prints: "12 of 50 points are in r.json". A signal that arrives during the step waits for
/// it, half a second at most.
void save_before_signals(SavedResults results, const std::function<std::string()>& step);

/// Runs a program's work and returns its exit status. Standard streams that the caller of the
/// program closed are first opened on /dev/null, so that no other file gets their descriptors. An
/// exception thrown by the work becomes an Error for `report`, which prints it and returns the
/// status.
int exit_status_of(const std::function<int()>& work, int (*report)(const Error& error));

/// Writes the text to standard error; if it is closed, does nothing.
void print_to_stderr(const std::string& text);

}  // namespace attnscope
