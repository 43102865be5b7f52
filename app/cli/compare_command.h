/// attnscope-cli compare: modelled beside recorded, row by row.
#pragma once

#include "app/cli/command_line.h"

namespace attnscope::cli {

CommandSpec compare_command();

}  // namespace attnscope::cli
