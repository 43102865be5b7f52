/// The last launch of a backward pass with grouped heads. Internal.
#pragma once

#include "kernels/backward_parameters.h"
#include "kernels/compile/block_program.h"

namespace attnscope::kernels {

inline BlockProgram sum_heads_program(DType dtype) {
  constexpr int kThreads = 256;
  return {.program = {.sources = {"kernels/sum_heads.cuh"},
                      .expression = instance_of("sum_heads", element_type(dtype), kThreads)},
          .threads = kThreads};
}

/// "sum_heads": dK and dV of a KV head, summed in fp32 over dK_heads and dV_heads of its query
/// heads, then rounded. A thread block owns Bc rows.
void start_sum_heads(const BackwardArguments& arguments, const BackwardParameters& parameters,
                     Index Bc);

}  // namespace attnscope::kernels
