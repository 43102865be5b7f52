/// attnscope-cli run: the real kernel once, checked against the reference.
#pragma once

#include "app/cli/command_line.h"

namespace attnscope::cli {

CommandSpec run_command();

}  // namespace attnscope::cli
