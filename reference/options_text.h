/// A run as the options of a command line.
#pragma once

#include <string>

#include "reference/run_fields.h"

namespace attnscope {

/// The options that give this run to a command that models it (FieldTarget::model) or runs its
/// kernel, each after a space: " --algorithm flash2 --seq-len 4096 --alibi". Values that a shell
/// would split or expand are quoted.
std::string options_text(const RunSpec& spec, FieldTarget target);

}  // namespace attnscope
