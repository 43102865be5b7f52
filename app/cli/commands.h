/// Every command of attnscope-cli, in the order of its help text.
#pragma once

#include <vector>

#include "app/cli/command_line.h"

namespace attnscope::cli {

std::vector<CommandSpec> all_commands();

}  // namespace attnscope::cli
