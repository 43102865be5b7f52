/// Shared memory of a block for score functions. Compiled for host and device.
#pragma once

#include "kernels/warp_parts_shared.h"
#include "reference/tiling.h"

namespace attnscope::kernels {

/// Pieces of eight keys that a lane draws dropout for at a time: at most eight, and equal parts of
/// a tile.
constexpr Index scored_keys_drawn(Index Bc) {
  Index drawn = 8;
  while (Bc / 8 % drawn != 0) --drawn;
  return drawn;
}

/// The keys that a row sees: SeenKeys of score_parameters.h.
inline constexpr Index kSeenKeysBytes = 12;

/// What the rows of a tile see and keep, and four numbers of the tile.
constexpr Index scored_rows_shared_bytes(const Tiling& tiling) {
  const Index drawings = tiling.Bc / 8 / scored_keys_drawn(tiling.Bc);
  return tiling.Br * (kSeenKeysBytes + 2 * 4 * drawings) + 4 * 4;
}

/// The same for the columns of a tile, in the backward pass (device/scored_columns.cuh): what each
/// thread has drawn, in words of `drawn_bytes` with four bits for every eight queries of its part,
/// and what the rows of `stages` row tiles see.
constexpr Index scored_columns_shared_bytes(const Tiling& tiling, int warps, Index stages,
                                            Index drawn_bytes) {
  const WarpPart part = warp_part(static_cast<int>(tiling.Bc), static_cast<int>(tiling.Br), warps);
  const Index words = ceil_div(part.columns / 8, 2 * drawn_bytes) * (part.rows / 16);
  return words * warps * 32 * drawn_bytes + stages * tiling.Br * kSeenKeysBytes + 4 * 4;
}

}  // namespace attnscope::kernels
