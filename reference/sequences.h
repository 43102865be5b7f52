/// Checks of the sequences of a problem: key lengths and packing. Each answers nothing, or one
/// line: what, why, what would be accepted. The sizes of the problem are valid.
#pragma once

#include <optional>
#include <string>

#include "reference/attention_problem.h"

namespace attnscope {

std::optional<Error> validate_key_lengths(const AttentionProblem& problem);
std::optional<Error> validate_packing(const AttentionProblem& problem);

}  // namespace attnscope
