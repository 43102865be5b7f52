/// Tensor maps for the bulk copies of the passes with Hopper's instructions. Internal to the
/// kernels. Compiled for host and device.
#pragma once

#include "reference/fixed_width.h"

namespace attnscope::kernels {

/// Stands in for the driver's CUtensorMap, byte for byte: device code cannot include cuda.h.
struct alignas(128) TensorMap {
  uint64_t words[16];
};

inline constexpr int kBoxColumns = 64;      ///< of each box, as in a panel
inline constexpr int kForwardBoxRows = 64;  ///< of a box of Q in a forward pass: one consumer's
                                            ///< rows

/// The driver's encoding of tensors of 16-bit elements, in boxes of a tile's rows and kBoxColumns
/// with the swizzle of device::PanelTile.
struct GradientMaps {
  TensorMap Q_rows, dO_rows;         ///< [B, H, N, d], Br rows per box
  TensorMap K_columns, V_columns;    ///< [B, H_kv, N_kv, d], Bc rows per box
  TensorMap dK_columns, dV_columns;  ///< of each query head, [B, H, N_kv, d], one store's rows per
                                     ///< box
};

/// The same for a forward pass.
struct ForwardMaps {
  TensorMap Q_rows;                ///< [B, H, N, d], kForwardBoxRows per box
  TensorMap K_columns, V_columns;  ///< [B, H_kv, N_kv, d], Bc rows per box
  TensorMap O_rows;                ///< [B, H, N, d], a warp's 16 rows per box
};

}  // namespace attnscope::kernels
