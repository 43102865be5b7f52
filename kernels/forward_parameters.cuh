/// Parameters of a forward kernel, passed by value: the arguments of launch.h in the kernels'
/// types. Internal to the kernels. Compiled for host and device.
#pragma once

#include "kernels/score_parameters.cuh"
#include "kernels/tensor_view.cuh"
#include "reference/host_device.h"

namespace attnscope::kernels {

/// Parameters of flash1 and flash2: the shape and the tensors.
struct ForwardParameters {
  ForwardShape shape;
  TensorView Q, K, V, O;
  float* LSE = nullptr;
  /// Each row tile's column tiles, in the format of kernels/tile_lists.h: for
  /// block_sparse2 and for packed sequences.
  const int* column_tiles = nullptr;
  ScoreParameters scores = {};
};

/// The rows of a tensor in one head: element (row, column) is data[row * stride_row + column].
template <typename T>
struct HeadRows {
  T* data;
  Index stride_row;
  ATTNSCOPE_HOST_DEVICE T* row(Index index) const { return data + index * stride_row; }
};

template <typename T>
ATTNSCOPE_HOST_DEVICE HeadRows<T> rows_of_head(const TensorView& tensor, Index batch, Index head) {
  return {
      static_cast<T*>(tensor.data_dev) + batch * tensor.stride_batch + head * tensor.stride_head,
      tensor.stride_row};
}

}  // namespace attnscope::kernels
