/// A problem in the kernels' types: the parameters passed by value, the tensors as matrices, and
/// the score features that the kernels are compiled with. Plain C++.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "kernels/forward_shape.cuh"
#include "kernels/score_features.cuh"
#include "kernels/score_parameters.cuh"
#include "kernels/tensor_view.cuh"
#include "reference/attention_problem.h"

namespace attnscope::kernels {

ForwardShape forward_shape(const AttentionProblem& problem);

/// A contiguous [B, heads, rows, columns] tensor.
TensorView contiguous_view(void* data_dev, Index heads, Index rows, Index columns);

/// A row-major matrix per head: a tensor [batch, heads, rows, columns].
struct HeadMatrices {
  TensorView view;
  Index batch = 1, heads = 1, rows = 1, columns = 1;
  bool transposed = false;  ///< a product reads the transpose of each matrix
};
/// [B, H, N, d]
inline HeadMatrices queries_of(const AttentionProblem& problem, const TensorView& view) {
  return {view, problem.batch, problem.heads, problem.N, problem.d};
}
/// [B, H_kv, N_kv, d]
inline HeadMatrices keys_of(const AttentionProblem& problem, const TensorView& view) {
  return {view, problem.batch, problem.kv_heads, problem.N_kv, problem.d};
}
/// [B, H, N_kv, d]: dK or dV of each query head
inline HeadMatrices key_gradients_of(const AttentionProblem& problem, const TensorView& view) {
  return {view, problem.batch, problem.heads, problem.N_kv, problem.d};
}

inline HeadMatrices transposed(HeadMatrices matrices) {
  matrices.transposed = true;
  return matrices;
}

/// result = left right, for each head of `result` and `left`. If `right` has fewer heads,
/// consecutive heads share one, and `left` is not transposed.
struct HeadProduct {
  HeadMatrices result, left, right;
};

/// Splits the product into as few strided batches as the tensors' strides allow, without copying;
/// each returned product is one of them, whose tensors have one batch entry.
///
/// Heads that share one of `right` are one product with the rows of all, where these are contiguous
/// in `left` and `result`. Otherwise each batch is one group, whose heads share one matrix of
/// `right` with stride 0.
std::vector<HeadProduct> strided_batches(HeadProduct product, DType dtype);

ScoreFeatures score_features(const AttentionProblem& problem);

/// The features that flash1's backward pass is compiled with. With any feature, it reads each row's
/// keys from the table of key ranges: computing them would take registers that it does not have.
ScoreFeatures flash1_backward_features(const AttentionProblem& problem);

/// The unit of a kernel's scores: Q K^T, or for standard Q K^T times the softmax scale.
enum class ScoreUnit : std::uint8_t { before_scale, scaled };

/// Copies an array to memory that the kernels read, and returns its address; null if it is empty.
using Upload = std::function<const void*(std::span<const std::byte> array)>;

/// The parameters with their arrays uploaded.
ScoreParameters score_parameters(const AttentionProblem& problem, ScoreUnit unit,
                                 const Upload& upload);

}  // namespace attnscope::kernels
