/// Sizes, and the tile of S. Compiled for host and device.
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

}  // namespace attnscope
