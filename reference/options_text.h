/// A run as the options of a command line.
#pragma once

#include <string>

#include "reference/run_fields.h"

namespace attnscope {

/// The options by which a command that models a run (FieldTarget::model) or runs its kernel gets
/// this one, each after a blank: " --algorithm flash2 --seq-len 4096 --alibi". Texts that a shell
/// would split or expand are quoted.
std::string options_text(const RunSpec& spec, FieldTarget target);

}  // namespace attnscope
