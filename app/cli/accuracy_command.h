/// attnscope-cli accuracy: why the softmax is online, and how exact each algorithm is.
#pragma once

#include "app/cli/command_line.h"

namespace attnscope::cli {

CommandSpec accuracy_command();

}  // namespace attnscope::cli
