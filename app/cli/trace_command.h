/// attnscope-cli trace: the modelled run as a Chrome trace that Perfetto opens.
#pragma once

#include "app/cli/command_line.h"

namespace attnscope::cli {

CommandSpec trace_command();

}  // namespace attnscope::cli
