/// Matrix products of all heads of a problem, as strided batches of row-major products. Internal.
#pragma once

#include <vector>

#include "kernels/kernel_parameters.h"

namespace attnscope::kernels {

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

}  // namespace attnscope::kernels
