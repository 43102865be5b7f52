/// Standard attention, backward (arXiv 2205.14135, Algorithm 3), from the P that the forward pass
/// stored: the launches "dV", "dP", "dS", "dQ", "dK" and, with grouped heads, "sum_heads". Follows
/// sim/schedule/standard_backward.cpp.
///
/// Four cuBLAS products around one fused softmax gradient. P is read twice, dP once, dS twice: each
/// an N x N_kv tensor in HBM; dP overwrites S, which is no longer read. With dropout, dV reads P
/// after dropout; with a soft cap, dS also reads S, and dP has separate memory.
#include <cstddef>

#include "kernels/backward_launches.h"
#include "kernels/host/score_tables.h"
#include "kernels/kernel_parameters.h"
#include "kernels/launch_resources.h"
#include "kernels/launches.h"
#include "kernels/standard/head_products.h"
#include "kernels/standard/softmax_parameters.cuh"
#include "kernels/standard/softmax_programs.h"
#include "kernels/workspace.h"

namespace attnscope::kernels {

std::optional<Error> launch_standard_backward(const BackwardArguments& arguments,
                                              const Tiling& tiling) {
  const AttentionProblem& problem = arguments.problem;
  const auto opened = HeadProducts::open(problem, arguments.resources->cublas, arguments.stream);
  if (!opened) return opened.error();
  const HeadProducts& products = opened.value();
  const StandardBackwardWorkspace layout = standard_backward_workspace(problem);
  auto* const workspace = static_cast<std::byte*>(arguments.workspace_dev);
  const StandardWorkspace stored = standard_workspace(problem);
  auto* const forward = static_cast<std::byte*>(arguments.forward_workspace_dev);
  void* const dP =
      layout.dP_takes_place_of_S ? forward + stored.S_offset : workspace + layout.dP_offset;
  void* const dS = dP;  // overwrites dP
  const BackwardParameters parameters = backward_parameters(
      arguments, workspace + layout.dK_heads_offset, workspace + layout.dV_heads_offset);
  LaunchTables tables(arguments.resources->tables);
  const SoftmaxGradientParameters gradient{.shape = parameters.shape,
                                           .rows = problem.batch * problem.heads * problem.N,
                                           .P = forward + stored.P_offset,
                                           .dP = dP,
                                           .scores = tables.scores(problem, ScoreUnit::scaled),
                                           .S = forward + stored.S_offset};

  std::optional<Error> error;
  named_launch(arguments, "dV", [&] {
    error = products.of_scores_transposed(parameters.dV_heads, forward + stored.P_dropped_offset,
                                          arguments.dO, 1.0);
  });
  if (error) return error;
  named_launch(arguments, "dP",
               [&] { error = products.scores(dP, arguments.dO, arguments.V, 1.0); });
  if (error) return error;
  named_launch(arguments, "dS", [&] {
    const BlockProgram block = softmax_gradient_program(problem);
    const Index blocks = ceil_div(gradient.rows, softmax_rows_per_block(problem.N_kv));
    arguments.resources->kernels.start(block, blocks, arguments.stream, gradient);
  });
  named_launch(arguments, "dQ", [&] {
    error = products.of_scores(arguments.dQ, dS, arguments.K, problem.softmax_scale());
  });
  if (error) return error;
  named_launch(arguments, "dK", [&] {
    error = products.of_scores_transposed(parameters.dK_heads, dS, arguments.Q,
                                          problem.softmax_scale());
  });
  if (error || problem.heads_per_kv_head() == 1) return error;
  named_launch(arguments, "sum_heads", [&] { start_sum_heads(arguments, parameters, tiling.Bc); });
  return std::nullopt;
}

}  // namespace attnscope::kernels
