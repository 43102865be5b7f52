/// What a forward kernel is passed by value: the arguments of launch.h in the kernels' own types.
/// Internal to the kernels. Compiled for host and device.
#pragma once

#include "kernels/launch.h"
#include "reference/host_device.h"

namespace attnscope::kernels {

/// The sizes and the mask of a problem. `diagonal_offset` is the number of keys that lie before the
/// diagonal of query 0: N_kv - N (bottom-right) or 0 (top-left); without a mask it is N_kv, which
/// makes every key visible to every query.
struct ForwardShape {
  int heads = 1;
  int heads_per_kv_head = 1;
  int N = 0;
  int N_kv = 0;
  int diagonal_offset = 0;
  float softmax_scale = 1.0f;
  float softmax_scale_log2 = 1.0f;  ///< softmax_scale * log2(e)

  /// Keys that query row `row` sees: [0, keys_end(row)).
  ATTNSCOPE_HOST_DEVICE int keys_end(int row) const {
    const int end = row + diagonal_offset + 1;
    return end < 0 ? 0 : (end < N_kv ? end : N_kv);
  }
};

/// Parameters of flash1 and flash2: the shape, and where the tensors are.
struct ForwardParameters {
  ForwardShape shape;
  TensorView Q, K, V, O;
  float* LSE = nullptr;
  /// block_sparse2: each row tile's column tiles, as kernels/block_sparse/tile_lists.h has them.
  const int* column_tiles = nullptr;
};

ForwardShape forward_shape(const AttentionProblem& problem);

/// A tensor's rows of one head: element (row, column) stands at data[row * stride_row + column].
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
