#include <string_view>

#include "kernels/kernel_parameters.h"
#include "kernels/pass_launcher.h"
#include "kernels/standard/softmax_parameters.cuh"

namespace attnscope::kernels {

namespace {

/// The contiguous [B, H, N, N_kv] tensor at this address.
HeadMatrices scores_of(const AttentionProblem& problem, void* data_dev) {
  return {contiguous_view(data_dev, problem.heads, problem.N, problem.N_kv), problem.batch,
          problem.heads, problem.N, problem.N_kv};
}

/// Launches result = scale * left right for all heads, by cuBLAS.
void multiply(PassLauncher& pass, std::string_view launch, const HeadProduct& product,
              double scale = 1.0) {
  const DType dtype = pass.problem.dtype;
  Cublas& cublas = pass.arguments.resources->cublas;
  pass.start_by(launch, [&] {
    for (const HeadProduct& batch : strided_batches(product, dtype)) {
      cublas.multiply(batch, dtype, scale, pass.arguments.stream);
    }
  });
}

}  // namespace

/// Standard attention, forward (arXiv 2205.14135, Algorithm 0): the launches "scores", "softmax"
/// and "output". Follows sim/schedule/standard_forward.cpp.
void launch_standard(PassLauncher& pass) {
  const AttentionProblem& problem = pass.problem;
  const PassArguments& arguments = pass.arguments;
  const auto P_read = problem.score.has_dropout() ? WorkspaceTensor::P_dropped : WorkspaceTensor::P;
  void* const S = pass.workspace(WorkspaceTensor::S);
  const SoftmaxParameters softmax{.shape = forward_shape(problem),
                                  .rows = pass.rows(),
                                  .S = S,
                                  .P = pass.workspace(WorkspaceTensor::P),
                                  .LSE = arguments.LSE_dev,
                                  .scores = pass.scores,
                                  .P_dropped = pass.workspace(P_read)};

  multiply(pass, "scores",
           {scores_of(problem, S), queries_of(problem, arguments.Q),
            transposed(keys_of(problem, arguments.K))},
           problem.softmax_scale());
  pass.start("softmax", ceil_div(pass.rows(), softmax_rows_per_block(problem.N_kv)), softmax);
  multiply(pass, "output",
           {queries_of(problem, arguments.O), scores_of(problem, softmax.P_dropped),
            keys_of(problem, arguments.V)});
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
  const auto P_read = problem.score.has_dropout() ? WorkspaceTensor::P_dropped : WorkspaceTensor::P;
  void* const S = pass.forward_workspace(WorkspaceTensor::S);
  void* const dP = problem.score.soft_cap ? pass.workspace(WorkspaceTensor::dP) : S;
  const BackwardParameters parameters = pass.backward_parameters();
  const SoftmaxGradientParameters gradient{.shape = parameters.shape,
                                           .rows = pass.rows(),
                                           .P = pass.forward_workspace(WorkspaceTensor::P),
                                           .dP = dP,
                                           .scores = pass.scores,
                                           .S = S};

  const HeadMatrices gradients = scores_of(problem, dP);  // dP, then dS
  const HeadMatrices dO = queries_of(problem, arguments.dO);
  multiply(pass, "dV",
           {key_gradients_of(problem, parameters.dV_heads),
            transposed(scores_of(problem, pass.forward_workspace(P_read))), dO});
  multiply(pass, "dP", {gradients, dO, transposed(keys_of(problem, arguments.V))});
  pass.start("dS", ceil_div(pass.rows(), softmax_rows_per_block(problem.N_kv)), gradient);
  multiply(pass, "dQ",
           {queries_of(problem, arguments.dQ), gradients, keys_of(problem, arguments.K)},
           problem.softmax_scale());
  multiply(pass, "dK",
           {key_gradients_of(problem, parameters.dK_heads), transposed(gradients),
            queries_of(problem, arguments.Q)},
           problem.softmax_scale());
  pass.sum_grouped_heads(parameters);
}

}  // namespace attnscope::kernels
