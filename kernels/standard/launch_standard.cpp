#include <memory>
#include <string_view>

#include "kernels/pass_launcher.h"
#include "kernels/standard/batched_product.h"
#include "kernels/standard/softmax_parameters.cuh"

namespace attnscope::kernels {

namespace {

/// Launches of matrix products of a pass's tensors, for all heads at once, by cuBLAS.
class Products {
 public:
  explicit Products(PassLauncher& pass)
      : pass_(pass), cublas_(pass.arguments.resources->cublas.of(pass.arguments.stream)) {}

  // Operands
  HeadMatrices queries(const TensorView& tensor) const {  ///< [B, H, N, d]
    return {tensor, problem_.heads, problem_.N, problem_.d};
  }
  HeadMatrices keys(const TensorView& tensor) const {  ///< [B, H_kv, N_kv, d]
    return {tensor, problem_.kv_heads, problem_.N_kv, problem_.d};
  }
  HeadMatrices key_gradients(const TensorView& tensor) const {  ///< [B, H, N_kv, d]
    return {tensor, problem_.heads, problem_.N_kv, problem_.d};
  }
  HeadMatrices scores(void* data_dev) const {  ///< [B, H, N, N_kv], contiguous
    return {contiguous_view(data_dev, problem_.heads, problem_.N, problem_.N_kv), problem_.heads,
            problem_.N, problem_.N_kv};
  }

  /// result = scale * left right.
  void start(std::string_view launch, const HeadMatrices& result, const HeadMatrices& left,
             const HeadMatrices& right, double scale = 1.0) const {
    pass_.start_by(launch, [&] {
      const DType dtype = problem_.dtype;
      for (const auto& batch : strided_batches({result, left, right}, problem_.batch, dtype)) {
        cublas_->multiply(batch, dtype, scale);
      }
    });
  }

 private:
  PassLauncher& pass_;
  const AttentionProblem& problem_ = pass_.problem;
  const std::shared_ptr<CublasHandle> cublas_;
};

}  // namespace

/// Standard attention, forward (arXiv 2205.14135, Algorithm 0): the launches "scores", "softmax"
/// and "output". Follows sim/schedule/standard_forward.cpp.
void launch_standard(PassLauncher& pass) {
  const AttentionProblem& problem = pass.problem;
  const PassArguments& arguments = pass.arguments;
  const Products products(pass);
  const auto P_read = problem.score.has_dropout() ? WorkspaceTensor::P_dropped : WorkspaceTensor::P;
  void* const S = pass.workspace(WorkspaceTensor::S);
  const SoftmaxParameters softmax{.shape = forward_shape(problem),
                                  .rows = problem.batch * problem.heads * problem.N,
                                  .S = S,
                                  .P = pass.workspace(WorkspaceTensor::P),
                                  .LSE = arguments.LSE_dev,
                                  .scores = pass.scores(ScoreUnit::scaled),
                                  .P_dropped = pass.workspace(P_read)};

  products.start("scores", products.scores(S), products.queries(arguments.Q),
                 transposed(products.keys(arguments.K)), problem.softmax_scale());
  pass.start("softmax", ceil_div(softmax.rows, softmax_rows_per_block(problem.N_kv)), softmax);
  products.start("output", products.queries(arguments.O), products.scores(softmax.P_dropped),
                 products.keys(arguments.V));
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
  const Products products(pass);
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

  products.start("dV", products.key_gradients(parameters.dV_heads),
                 transposed(products.scores(pass.forward_workspace(P_read))),
                 products.queries(arguments.dO));
  products.start("dP", products.scores(dP), products.queries(arguments.dO),
                 transposed(products.keys(arguments.V)));
  pass.start("dS", ceil_div(gradient.rows, softmax_rows_per_block(problem.N_kv)), gradient);
  products.start("dQ", products.queries(arguments.dQ), products.scores(dS),
                 products.keys(arguments.K), problem.softmax_scale());
  products.start("dK", products.key_gradients(parameters.dK_heads), transposed(products.scores(dS)),
                 products.queries(arguments.Q), problem.softmax_scale());
  pass.sum_grouped_heads(parameters);
}

}  // namespace attnscope::kernels
