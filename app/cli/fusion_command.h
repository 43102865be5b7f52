/// attnscope-cli fusion: the bytes after each step of fusing attention.
#pragma once

#include "app/cli/command_line.h"

namespace attnscope::cli {

CommandSpec fusion_command();

}  // namespace attnscope::cli
