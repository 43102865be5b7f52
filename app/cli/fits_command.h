/// attnscope-cli fits: the largest batch or sequence of a model in a GPU's memory.
#pragma once

#include "app/cli/command_line.h"

namespace attnscope::cli {

CommandSpec fits_command();

}  // namespace attnscope::cli
