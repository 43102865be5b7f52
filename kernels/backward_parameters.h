/// What a backward kernel is passed by value: the arguments of launch.h in the kernels' own types.
/// Internal to the kernels. Compiled for host and device.
#pragma once

#include "kernels/forward_parameters.h"

namespace attnscope::kernels {

/// dQ_accum of 16-bit kernels stands in pieces of 16 rows and 8 columns, each as the tensor cores'
/// fragments hold it (device/matrix_fragments.cuh): so many pieces down a head of N rows,
ATTNSCOPE_HOST_DEVICE constexpr int dQ_accum_row_pieces(int N) {
  return (N + 15) / 16;
}
/// and so many side by side.
ATTNSCOPE_HOST_DEVICE constexpr int dQ_accum_pieces(int d) {
  return (d + 7) / 8;
}

/// The shape and mask are those of the forward pass.
struct BackwardParameters {
  ForwardShape shape;
  TensorView Q, K, V, O, dO;
  TensorView dQ, dK, dV;
  /// Where each query head's dK and dV go, [B, H, N_kv, d]: dK and dV themselves, or, where query
  /// heads share a KV head, the workspace.
  TensorView dK_heads, dV_heads;
  const float* LSE = nullptr;  ///< [B, H, N]
  float* D = nullptr;          ///< [B, H, N], rowsum(dO * O)
  /// The sum of dS K, unscaled: [B, H, row pieces, pieces, 128]; of fp32 problems [B, H, N, d].
  float* dQ_accum = nullptr;
  int* dQ_turns = nullptr;         ///< [B, H, Tr]: whose turn it is to add to dQi; null: no order
  const int* row_tiles = nullptr;  ///< each column tile's, as column_tiles
  ScoreParameters scores = {};
};

/// What every backward pass passes on. With grouped heads the query heads' dK and dV go to
/// contiguous tensors at the two places in the workspace.
BackwardParameters backward_parameters(const BackwardArguments& arguments, void* dK_heads_dev,
                                       void* dV_heads_dev);

}  // namespace attnscope::kernels
