/// Every command of attnscope-cli: COMMAND_command() is in COMMAND_command.cpp, which the build
/// finds by its name.
#pragma once

#include <vector>

#include "app/cli/command_line.h"

namespace attnscope::cli {

CommandSpec accuracy_command();
CommandSpec compare_command();
CommandSpec fits_command();
CommandSpec flops_command();
CommandSpec fusion_command();
CommandSpec guide_command();
CommandSpec io_command();
CommandSpec list_command();
CommandSpec measure_command();
CommandSpec run_command();
CommandSpec simulate_command();
CommandSpec sweep_command();
CommandSpec trace_command();

/// All of them, in the order of the help text.
inline std::vector<CommandSpec> all_commands() {
  return {simulate_command(), run_command(),      measure_command(), compare_command(),
          sweep_command(),    accuracy_command(), fusion_command(),  io_command(),
          flops_command(),    fits_command(),     trace_command(),   list_command(),
          guide_command()};
}

}  // namespace attnscope::cli
