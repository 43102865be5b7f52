/// The progress line on standard error.
#pragma once

#include <optional>
#include <string_view>

#include "kernels/measure/gpu.h"

namespace attnscope::cli {

/// Replaces the progress line, and appends the seconds that have passed since then, so that a user
/// can tell slow work from a hang. Does nothing unless standard error is a terminal.
/// Only one thread at a time may call these functions.
void show_progress(std::string_view line);
void clear_progress();
/// Shows a step of the work after the line, as in "calibrating: launch_gap_s", in place of the
/// previous step.
void show_step(std::string_view step);

/// Calls Gpu::compile(). After 100 ms the progress line also shows "compiling 2 of 3"; cached
/// kernels take less time and show nothing.
std::optional<Error> compile_with_progress(Gpu& gpu, const ResolvedRun& run, kernels::RunUse use);

}  // namespace attnscope::cli
