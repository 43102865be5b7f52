/// Sizes, the tile of S, and the head dimensions of kernels. Compiled for host and device.
#pragma once

#include "reference/fixed_width.h"

namespace attnscope {

/// Counts and sizes. Signed, so that differences are safe.
using Index = int64_t;

constexpr Index ceil_div(Index a, Index b) {
  return (a + b - 1) / b;
}

/// Bytes of one row statistic (m, l, LSE, D): always fp32.
inline constexpr Index kStatisticBytes = 4;

/// Rows and columns of a tile of S: Br query rows by Bc key columns. Either may exceed the
/// sequence. For `standard`: BM and BN, the tile of its matrix products.
struct Tiling {
  Index Br = 64;
  Index Bc = 64;
  bool operator==(const Tiling&) const = default;
};

/// The widest head dimension that a fused kernel accepts.
inline constexpr Index kMaxKernelHeadDim = 256;

/// The width of tiles on chip in a tensor-core kernel: the next of 16, 32, 64, 96, 128, 192, 256
/// (then multiples of 64), as in flash-attention. Columns beyond d are zero and never transferred.
constexpr Index padded_head_dim(Index d) {
  if (d <= 32) return d <= 16 ? 16 : 32;
  const Index multiple = d <= 64 ? 64 : (d <= 128 ? 32 : 64);
  return (d + multiple - 1) / multiple * multiple;
}

}  // namespace attnscope
