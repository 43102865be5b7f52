/// attnscope-cli list algorithms|kernels|gpus|recordings|scenes
#pragma once

#include "app/cli/command_line.h"

namespace attnscope::cli {

CommandSpec list_command();

}  // namespace attnscope::cli
