/// Shared memory of a block for the score functions of its rows (device/scored_rows.cuh). Compiled
/// for host and device.
#pragma once

#include "reference/tiling.h"

namespace attnscope::kernels {

/// Pieces of eight keys that a lane draws dropout for at a time.
constexpr Index scored_keys_drawn(Index Bc) {
  return Bc < 64 ? Bc / 8 : 8;
}

/// What the rows of a tile see and keep, and four numbers of the tile.
constexpr Index scored_rows_shared_bytes(const Tiling& tiling) {
  constexpr Index kSeenKeysBytes = 12;
  const Index drawings = tiling.Bc / 8 / scored_keys_drawn(tiling.Bc);
  return tiling.Br * (kSeenKeysBytes + 2 * 4 * drawings) + 4 * 4;
}

}  // namespace attnscope::kernels
