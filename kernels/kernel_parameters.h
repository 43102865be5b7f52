/// A problem in the kernels' types: the parameters passed by value, and the score features that the
/// kernels are compiled with. Plain C++.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

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
  Index batch = 0, heads = 0, rows = 0, columns = 0;
  bool transposed = false;  ///< a product reads the transpose of each matrix
};
/// [B, H, N, d]
HeadMatrices queries_of(const AttentionProblem& problem, const TensorView& view);
/// [B, H_kv, N_kv, d]
HeadMatrices keys_of(const AttentionProblem& problem, const TensorView& view);
/// [B, H, N_kv, d]: dK or dV of each query head
HeadMatrices key_gradients_of(const AttentionProblem& problem, const TensorView& view);

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
