/// The last launch of a backward pass with grouped heads. Internal.
#pragma once

#include "kernels/backward_parameters.h"
#include "reference/attention_problem.h"

namespace attnscope::kernels {

/// "sum_heads": dK and dV of a KV head, summed in fp32 over dK_heads and dV_heads of its query
/// heads, then rounded. fp16 and bf16.
void start_sum_heads(const BackwardParameters& parameters, const AttentionProblem& problem,
                     Index Bc, void* stream);

}  // namespace attnscope::kernels
