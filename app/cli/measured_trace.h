/// attnscope-cli trace of a real run: recorded now on this machine's GPU, or saved before.
#pragma once

#include "app/cli/command_line.h"

namespace attnscope::cli {

/// --measured, --rows, --save and --recording.
std::vector<OptionSpec> measured_trace_options();

/// Whether the options ask for a real run.
bool asks_for_measured(const GivenOptions& given);

/// Nothing when the options go together, else invalid_request.
std::optional<Error> check_measured_options(const GivenOptions& given);

/// Writes the real run's Chrome trace to `path`, and with --save the trace itself.
std::optional<Error> run_measured_trace(const GivenOptions& given, const std::string& path);

}  // namespace attnscope::cli
