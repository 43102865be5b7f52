/// The parameters of flash1's kernels, passed by value. Compiled for host and device.
#pragma once

#include "kernels/backward_parameters.cuh"
#include "kernels/gradient_maps.cuh"

namespace attnscope::kernels {

/// Columns of a row of O if flash1 keeps it in fp32 in HBM between passes over the keys: d, rounded
/// up to whole 16-byte pieces; those beyond d are zero.
ATTNSCOPE_HOST_DEVICE constexpr int flash1_carried_columns(int d) {
  return (d + 3) / 4 * 4;
}

/// m and l are in HBM between passes, [B, H, N] each; m is the running maximum of Q K^T before
/// scaling. O is the tensor that is read and written in every pass: the output itself, or an fp32
/// workspace (Carry::fp32).
struct Flash1Parameters {
  ForwardShape shape;
  TensorView Q, K, V;
  TensorView O;
  float* m = nullptr;
  float* l = nullptr;
  ScoreParameters scores = {};
  const int* row_tiles = nullptr;  ///< of each column tile, for packed sequences (tile_lists.h)
};

/// The shared backward parameters, and m and l of the forward pass, [B, H, N] each; m is the
/// maximum of Q K^T before scaling.
struct Flash1BackwardParameters {
  BackwardParameters shared;
  const float* m = nullptr;
  const float* l = nullptr;
};

/// For Hopper's own instructions: the tensor maps of the bulk copies.
struct Flash1HopperParameters : Flash1BackwardParameters {
  GradientMaps maps;
  TensorMap O_rows, dQ_rows;
};

}  // namespace attnscope::kernels
