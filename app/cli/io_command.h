/// attnscope-cli io: the papers' IO theorems beside the counts.
#pragma once

#include "app/cli/command_line.h"

namespace attnscope::cli {

CommandSpec io_command();

}  // namespace attnscope::cli
