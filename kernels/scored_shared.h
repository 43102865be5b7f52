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
/// thread has drawn, `drawn_bytes` for every piece of 16 keys, and what the rows of `stages` row
/// tiles see.
constexpr Index scored_columns_shared_bytes(const Tiling& tiling, int warps, Index stages,
                                            Index drawn_bytes) {
  const int pieces =
      row_pieces_of_part(static_cast<int>(tiling.Bc), static_cast<int>(tiling.Br), warps);
  return pieces * warps * 32 * drawn_bytes + stages * tiling.Br * kSeenKeysBytes + 4 * 4;
}

}  // namespace attnscope::kernels
