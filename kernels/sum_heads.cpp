#include "kernels/sum_heads.h"

#include "kernels/launch.h"
#include "kernels/launch_resources.h"

namespace attnscope::kernels {

void start_sum_heads(const BackwardArguments& arguments, const BackwardParameters& parameters,
                     Index Bc) {
  const AttentionProblem& problem = arguments.problem;
  const Index blocks = problem.batch * problem.kv_heads * ceil_div(problem.N_kv, Bc);
  arguments.resources->kernels.start(sum_heads_program(problem.dtype), blocks, arguments.stream,
                                     parameters, static_cast<int>(Bc));
}

}  // namespace attnscope::kernels
