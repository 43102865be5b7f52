/// Refuses computations on numbers that this machine's memory cannot hold, before it is tried.
#pragma once

#include <optional>

#include "reference/attention_problem.h"
#include "reference/result.h"

namespace attnscope::cli {

/// Nothing when inputs, outputs and reference of the problem fit in the machine's memory as fp64,
/// else invalid_request. Counting needs no numbers and is not limited.
std::optional<Error> check_host_memory(const AttentionProblem& problem);

}  // namespace attnscope::cli
