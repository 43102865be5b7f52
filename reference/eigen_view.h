/// Eigen views of a HeadTensor's heads. Separate from head_tensor.h, so that only files that
/// compute with Eigen include its headers.
#pragma once

#include <Eigen/Core>

#include "reference/head_tensor.h"

namespace attnscope {

using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// The [rows, cols] matrix of head (b, h); a view, valid until the tensor is resized or destroyed.
inline Eigen::Map<RowMatrix> head_matrix(HeadTensor& tensor, Index b, Index h) {
  return {tensor.head(b, h).data(), tensor.rows, tensor.cols};
}
inline Eigen::Map<const RowMatrix> head_matrix(const HeadTensor& tensor, Index b, Index h) {
  return {tensor.head(b, h).data(), tensor.rows, tensor.cols};
}

}  // namespace attnscope
