/// Parameters of a backward kernel, passed by value: the arguments of launch.h in the kernels'
/// types. Internal to the kernels. Compiled for host and device.
#pragma once

#include "kernels/forward_parameters.cuh"

namespace attnscope::kernels {

/// 16-bit kernels store dQ_accum in pieces of 16 rows and 8 columns, each in the layout of the
/// tensor cores' fragments (device/matrix_fragments.cuh). Returns the number of pieces along the N
/// rows of a head.
ATTNSCOPE_HOST_DEVICE constexpr int dQ_accum_row_pieces(int N) {
  return (N + 15) / 16;
}
/// Returns the number of pieces along the d columns.
ATTNSCOPE_HOST_DEVICE constexpr int dQ_accum_pieces(int d) {
  return (d + 7) / 8;
}

/// The shape and mask are those of the forward pass.
struct BackwardParameters {
  ForwardShape shape;
  TensorView Q, K, V, O, dO;
  TensorView dQ, dK, dV;
  /// Each query head's dK and dV, [B, H, N_kv, d]: dK and dV themselves, or, when query heads share
  /// a KV head, buffers in the workspace.
  TensorView dK_heads, dV_heads;
  const float* LSE = nullptr;  ///< [B, H, N]
  float* D = nullptr;          ///< [B, H, N], rowsum(dO * O)
  /// The sum of dS K, unscaled: [B, H, row pieces, pieces, 128]; in fp32 problems [B, H, N, d].
  float* dQ_accum = nullptr;
  /// [2, B, H, Tr]: whose turn it is to add to dQi, or to each of its two parts; null: any order
  int* dQ_turns = nullptr;
  const int* row_tiles = nullptr;  ///< each column tile's row tiles, in lists like column_tiles
  ScoreParameters scores = {};
};

}  // namespace attnscope::kernels
