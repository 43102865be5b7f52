/// Matrix products of all heads of a problem, as strided batches of row-major products. Internal.
#pragma once

#include <vector>

#include "kernels/tensor_view.cuh"
#include "reference/attention_problem.h"

namespace attnscope::kernels {

/// A row-major matrix per head: a tensor [B, heads, rows, columns].
struct HeadMatrices {
  TensorView view;
  Index heads = 0, rows = 0, columns = 0;
  bool transposed = false;  ///< a product reads the transpose of each matrix
};

inline HeadMatrices transposed(HeadMatrices matrices) {
  matrices.transposed = true;
  return matrices;
}

/// result = left right, for each head of `result` and `left`. If `right` has fewer heads,
/// consecutive heads share one, and `left` is not transposed.
struct HeadProduct {
  HeadMatrices result, left, right;
};

/// Splits the product of tensors with `batch` entries into as few strided batches as their strides
/// allow, without copying; each returned product is one of them, whose tensors have one entry.
///
/// Heads that share one of `right` are one product with the rows of all, where these are contiguous
/// in `left` and `result`. Otherwise each batch is one group, whose heads share one matrix of
/// `right` with stride 0.
std::vector<HeadProduct> strided_batches(HeadProduct product, Index batch, DType dtype);

}  // namespace attnscope::kernels
