#include <cstddef>

#include "kernels/pass_launcher.h"
#include "kernels/standard/head_products.h"
#include "kernels/standard/softmax_parameters.cuh"

namespace attnscope::kernels {

/// Standard attention, forward (arXiv 2205.14135, Algorithm 0): the launches "scores", "softmax"
/// and "output". Follows sim/schedule/standard_forward.cpp.
void launch_standard(PassLauncher& pass) {
  const AttentionProblem& problem = pass.problem;
  const PassArguments& arguments = pass.arguments;
  const HeadProducts products(problem, arguments.resources->cublas, arguments.stream);
  const auto P_read = problem.score.has_dropout() ? WorkspaceTensor::P_dropped : WorkspaceTensor::P;
  const SoftmaxParameters softmax{.shape = forward_shape(problem),
                                  .rows = problem.batch * problem.heads * problem.N,
                                  .S = pass.workspace(WorkspaceTensor::S),
                                  .P = pass.workspace(WorkspaceTensor::P),
                                  .LSE = arguments.LSE_dev,
                                  .scores = pass.scores(ScoreUnit::scaled),
                                  .P_dropped = pass.workspace(P_read)};

  pass.start_by("scores", [&] {
    products.scores(pass.workspace(WorkspaceTensor::S), arguments.Q, arguments.K,
                    problem.softmax_scale());
  });
  pass.start("softmax", ceil_div(softmax.rows, softmax_rows_per_block(problem.N_kv)), softmax);
  pass.start_by("output",
                [&] { products.of_scores(arguments.O, softmax.P_dropped, arguments.V, 1.0); });
}

/// Standard attention, backward (arXiv 2205.14135, Algorithm 3), from the P that the forward pass
/// stored: the launches "dV", "dP", "dS", "dQ", "dK" and, with grouped heads, "sum_heads". Follows
/// sim/schedule/standard_backward.cpp.
///
/// Four cuBLAS products around one fused softmax gradient. P is read twice, dP once, dS twice: each
/// an N x N_kv tensor in HBM; dP overwrites S, which is no longer read. With dropout, dV reads P
/// after dropout; with a soft cap, dS also reads S, and dP has separate memory.
void launch_standard_backward(PassLauncher& pass) {
  const AttentionProblem& problem = pass.problem;
  const PassArguments& arguments = pass.arguments;
  const HeadProducts products(problem, arguments.resources->cublas, arguments.stream);
  const auto P_read = problem.score.has_dropout() ? WorkspaceTensor::P_dropped : WorkspaceTensor::P;
  void* const S = pass.forward_workspace(WorkspaceTensor::S);
  void* const dP = problem.score.soft_cap ? pass.workspace(WorkspaceTensor::dP) : S;
  void* const dS = dP;  // overwrites dP
  const BackwardParameters parameters = pass.backward_parameters();
  const SoftmaxGradientParameters gradient{.shape = parameters.shape,
                                           .rows = problem.batch * problem.heads * problem.N,
                                           .P = pass.forward_workspace(WorkspaceTensor::P),
                                           .dP = dP,
                                           .scores = pass.scores(ScoreUnit::scaled),
                                           .S = S};

  pass.start_by("dV", [&] {
    products.of_scores_transposed(parameters.dV_heads, pass.forward_workspace(P_read), arguments.dO,
                                  1.0);
  });
  pass.start_by("dP", [&] { products.scores(dP, arguments.dO, arguments.V, 1.0); });
  pass.start("dS", ceil_div(gradient.rows, softmax_rows_per_block(problem.N_kv)), gradient);
  pass.start_by(
      "dQ", [&] { products.of_scores(arguments.dQ, dS, arguments.K, problem.softmax_scale()); });
  pass.start_by("dK", [&] {
    products.of_scores_transposed(parameters.dK_heads, dS, arguments.Q, problem.softmax_scale());
  });
  pass.sum_grouped_heads(parameters);
}

}  // namespace attnscope::kernels
