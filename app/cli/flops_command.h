/// attnscope-cli flops: matrix products and all other operations of each algorithm.
#pragma once

#include "app/cli/command_line.h"

namespace attnscope::cli {

CommandSpec flops_command();

}  // namespace attnscope::cli
