#include "kernels/backward_launches.h"

#include "kernels/kernel_parameters.h"
#include "kernels/launch.h"
#include "kernels/launch_resources.h"

namespace attnscope::kernels {

namespace {

/// A contiguous [B, H, N_kv, d] tensor.
TensorView per_head_view(void* data_dev, const AttentionProblem& problem) {
  return {.data_dev = data_dev,
          .stride_batch = problem.heads * problem.N_kv * problem.d,
          .stride_head = problem.N_kv * problem.d,
          .stride_row = problem.d};
}

}  // namespace

BackwardParameters backward_parameters(const BackwardArguments& arguments, void* dK_heads_dev,
                                       void* dV_heads_dev) {
  const AttentionProblem& problem = arguments.problem;
  const bool grouped = problem.heads_per_kv_head() > 1;
  return {.shape = forward_shape(problem),
          .Q = arguments.Q,
          .K = arguments.K,
          .V = arguments.V,
          .O = arguments.O,
          .dO = arguments.dO,
          .dQ = arguments.dQ,
          .dK = arguments.dK,
          .dV = arguments.dV,
          .dK_heads = grouped ? per_head_view(dK_heads_dev, problem) : arguments.dK,
          .dV_heads = grouped ? per_head_view(dV_heads_dev, problem) : arguments.dV,
          .LSE = arguments.LSE_dev};
}

void start_sum_heads(const BackwardArguments& arguments, const BackwardParameters& parameters,
                     Index Bc) {
  const AttentionProblem& problem = arguments.problem;
  const Index blocks = problem.batch * problem.kv_heads * ceil_div(problem.N_kv, Bc);
  arguments.resources->kernels.start(sum_heads_program(problem.dtype), blocks, arguments.stream,
                                     parameters, static_cast<int>(Bc));
}

}  // namespace attnscope::kernels
