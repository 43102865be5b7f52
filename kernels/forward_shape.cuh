/// Sizes and mask of a problem, as passed to the kernels. Internal to the kernels. Compiled for
/// host and device.
#pragma once

#include "reference/host_device.h"

namespace attnscope::kernels {

/// The sizes and the mask of a problem. `diagonal_offset` is the number of keys before the diagonal
/// of query 0: N_kv - N (bottom-right) or 0 (top-left); without a mask it is N_kv, which makes
/// every key visible to every query.
struct ForwardShape {
  int heads = 1;
  int heads_per_kv_head = 1;
  int N = 0;
  int N_kv = 0;
  int d = 0;  ///< valid columns of a row; tiles on chip may be wider
  int diagonal_offset = 0;
  float softmax_scale = 1.0f;
  float softmax_scale_log2 = 1.0f;  ///< softmax_scale * log2(e)

  /// Keys that query row `row` sees: [0, keys_end(row)).
  ATTNSCOPE_HOST_DEVICE int keys_end(int row) const {
    const int end = row + diagonal_offset + 1;
    return end < 0 ? 0 : (end < N_kv ? end : N_kv);
  }
};

}  // namespace attnscope::kernels
