/// Shared memory of one block of flash1's forward launch. Plain C++: the catalog chooses a tiling
/// by it, and the kernel asserts that it uses this much.
#pragma once

#include "reference/tiling.h"

namespace attnscope::kernels {

/// Kj and Vj, then Qi and Oi in two stages each if Hopper has room, else only Qi in two, else both
/// in one. All in 16 bits.
constexpr Index flash1_forward_shared_bytes(Index d, const Tiling& tiling) {
  constexpr Index kMostBytes = 227 * 1024;
  const Index column_tiles = 2 * tiling.Bc * d * 2;
  const Index row_tile = tiling.Br * d * 2;
  for (const Index row_tiles : {4, 3}) {
    const Index bytes = column_tiles + row_tiles * row_tile;
    if (bytes <= kMostBytes) return bytes;
  }
  return column_tiles + 2 * row_tile;
}

}  // namespace attnscope::kernels
