/// Shared memory of a block for its problem's score features. Compiled for host and device.
#pragma once

#include "kernels/score_features.cuh"
#include "kernels/warp_parts_shared.cuh"
#include "reference/tiling.h"

namespace attnscope::kernels {

/// The number of pieces of eight keys for which a lane draws dropout at a time: at most eight, and
/// a divisor of the number of pieces in a tile.
constexpr Index score_keys_drawn(Index Bc) {
  Index drawn = 8;
  while (Bc / 8 % drawn != 0) --drawn;
  return drawn;
}

/// Bytes of the keys that a row sees: SeenKeys of score_parameters.cuh.
inline constexpr Index kSeenKeysBytes = 12;

/// Bytes of the tile's position: its first row or key, its number of rows or keys, its head and its
/// batch entry.
inline constexpr Index kScorePlaceBytes = 16;

/// Bytes for the rows of a tile, in the forward pass (device/score_rows.cuh): the tile's position,
/// the keys that each row sees, and those that dropout keeps.
constexpr Index score_rows_shared_bytes(const ScoreFeatures& features, const Tiling& tiling) {
  const Index drawings = tiling.Bc / 8 / score_keys_drawn(tiling.Bc);
  return (features.depend_on_place() ? kScorePlaceBytes : 0) +
         (features.key_ranges ? tiling.Br * kSeenKeysBytes : 0) +
         (features.dropout ? tiling.Br * 2 * 4 * drawings : 0);
}

/// The same for the columns of a tile, in the backward pass (device/score_columns.cuh): its
/// position, the keys that the rows of `stages` row tiles see, and the dropout bits of each thread,
/// in words of `drawn_bytes` with four bits for every eight queries of its part.
constexpr Index score_columns_shared_bytes(const ScoreFeatures& features, const Tiling& tiling,
                                           int warps, Index stages, Index drawn_bytes) {
  const WarpPart part = warp_part(static_cast<int>(tiling.Bc), static_cast<int>(tiling.Br), warps);
  const Index words = ceil_div(part.columns / 8, 2 * drawn_bytes) * (part.rows / 16);
  return (features.depend_on_place() ? kScorePlaceBytes : 0) +
         (features.key_ranges ? stages * tiling.Br * kSeenKeysBytes : 0) +
         (features.dropout ? words * warps * 32 * drawn_bytes : 0);
}

}  // namespace attnscope::kernels
