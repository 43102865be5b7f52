/// The parameters of split_kv's launches, passed by value. Compiled for host and device.
#pragma once

#include "kernels/forward_parameters.cuh"

namespace attnscope::kernels {

/// Columns of a row of O_split: d, rounded up to a multiple of 16 bytes.
ATTNSCOPE_HOST_DEVICE constexpr int split_columns(int d) {
  return (d + 3) / 4 * 4;
}

struct SplitKvParameters {
  ForwardShape shape;
  TensorView Q, K, V, O;
  float* LSE = nullptr;         ///< [B, H, N]
  int splits = 1;               ///< parts of the keys
  float* O_split = nullptr;     ///< [B, H, N, splits, split_columns(d)], normalised
  float* LSE_split = nullptr;   ///< [B, H, N, splits]
  ScoreParameters scores = {};  ///< no dropout, no packed sequences
};

}  // namespace attnscope::kernels
