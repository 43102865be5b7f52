/// What the backward passes share: their parameters, and the last launch with grouped heads.
/// Internal.
#pragma once

#include "kernels/backward_parameters.cuh"
#include "kernels/compile/block_program.h"

namespace attnscope::kernels {

struct BackwardArguments;  // kernels/launch.h

/// The parameters that all backward passes share. With grouped heads the query heads' dK and dV go
/// to contiguous tensors at the two given places in the workspace.
BackwardParameters backward_parameters(const BackwardArguments& arguments, void* dK_heads_dev,
                                       void* dV_heads_dev);

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
