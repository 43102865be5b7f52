/// Standard attention, forward (arXiv 2205.14135, Algorithm 0): the launches "scores", "softmax"
/// and "output". Follows sim/schedule/standard_forward.cpp.
#include <cstddef>

#include "kernels/host/score_tables.h"
#include "kernels/kernel_parameters.h"
#include "kernels/launch_resources.h"
#include "kernels/launches.h"
#include "kernels/standard/head_products.h"
#include "kernels/standard/softmax_parameters.cuh"
#include "kernels/standard/softmax_programs.h"
#include "kernels/workspace.h"

namespace attnscope::kernels {

std::optional<Error> launch_standard(const ForwardArguments& arguments, const Tiling& /*tiling*/) {
  const auto opened =
      HeadProducts::open(arguments.problem, arguments.resources->cublas, arguments.stream);
  if (!opened) return opened.error();
  const HeadProducts& products = opened.value();
  const AttentionProblem& problem = arguments.problem;
  const StandardWorkspace layout = standard_workspace(problem);
  auto* const workspace = static_cast<std::byte*>(arguments.workspace_dev);
  void* const S = workspace + layout.S_offset;
  void* const P = workspace + layout.P_offset;
  void* const P_dropped = workspace + layout.P_dropped_offset;
  LaunchTables tables(arguments.resources->tables);
  const SoftmaxParameters softmax{.shape = forward_shape(problem),
                                  .rows = problem.batch * problem.heads * problem.N,
                                  .S = S,
                                  .P = P,
                                  .LSE = arguments.LSE_dev,
                                  .scores = tables.scores(problem, ScoreUnit::scaled),
                                  .P_dropped = P_dropped};

  std::optional<Error> error;
  named_launch(arguments, "scores", [&] {
    error = products.scores(S, arguments.Q, arguments.K, problem.softmax_scale());
  });
  if (error) return error;
  named_launch(arguments, "softmax", [&] {
    const BlockProgram block = softmax_forward_program(problem);
    const Index blocks = ceil_div(softmax.rows, softmax_rows_per_block(problem.N_kv));
    arguments.resources->kernels.start(block, blocks, arguments.stream, softmax);
  });
  named_launch(arguments, "output",
               [&] { error = products.of_scores(arguments.O, P_dropped, arguments.V, 1.0); });
  return error;
}

}  // namespace attnscope::kernels
