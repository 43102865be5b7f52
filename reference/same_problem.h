/// Whether two problems are the same, block masks by what they keep rather than by identity.
#pragma once

#include "reference/attention_problem.h"

namespace attnscope {

bool same_problem(const AttentionProblem& a, const AttentionProblem& b);

}  // namespace attnscope
