/// attnscope-cli sweep --over KEY=V1,V2 [--over ...] -- simulate|measure ...
#pragma once

#include "app/cli/command_line.h"

namespace attnscope::cli {

CommandSpec sweep_command(const CommandSpec& simulate, const CommandSpec& measure);

}  // namespace attnscope::cli
