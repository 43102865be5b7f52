/// The progress line on standard error.
#pragma once

#include <optional>
#include <string_view>

#include "kernels/measure/gpu.h"

namespace attnscope::cli {

/// Shows the line in place of the last one, and appends the seconds since then while it stays, so
/// that a user can tell slow work from a hang. Does nothing unless standard error is a terminal.
/// Only one thread at a time may call these functions.
void show_progress(std::string_view line);
void clear_progress();
/// Shows the step of this work after the line, "calibrating: launch_gap_s", in place of the last
/// one.
void show_step(std::string_view step);

/// Calls Gpu::compile(); "compiling 2 of 3" appears after the progress line once this has taken
/// 100 ms, so that cached kernels show nothing.
std::optional<Error> compile_with_progress(Gpu& gpu, const ResolvedRun& run, kernels::RunUse use);

}  // namespace attnscope::cli
