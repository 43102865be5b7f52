/// Warps and shared memory of the blocks of flash2's backward launches. Compiled for host and
/// device: the catalog chooses a tiling by them, and the kernels are started with them.
#pragma once

#include "kernels/score_shared.cuh"
#include "reference/tiling.h"

namespace attnscope::kernels {

/// Warps of a block: one for every 16 rows or keys, whichever are more; fewer than eight become
/// more where the sums dKj, dVj and the tiles S, dP would fill the registers of a thread.
constexpr int flash2_backward_warps(Index d, const Tiling& tiling) {
  constexpr Index kEnoughWarps = 8, kMostFloats = 160;  // of the four, in one thread
  const Index floats = 2 * tiling.Bc * (d + tiling.Br);
  Index warps = (tiling.Br > tiling.Bc ? tiling.Br : tiling.Bc) / 16;
  if (warps < kEnoughWarps && floats > kMostFloats * warps * 32) {
    warps = 2 * warps < kEnoughWarps && floats <= kMostFloats * 2 * warps * 32 ? 2 * warps
                                                                               : kEnoughWarps;
  }
  return static_cast<int>(warps);
}

/// Threads of a block of "preprocess" and "convert".
inline constexpr int kFlash2RowThreads = 256;

/// Kj, Vj; two stages of Qi, dOi, LSEi, Di; P and dS. 16-bit tiles, fp32 statistics.
constexpr Index flash2_backward_shared_bytes(Index d, const Tiling& tiling) {
  constexpr Index kElementBytes = 2;
  const Index column_tiles = 2 * tiling.Bc * d * kElementBytes;
  const Index row_tiles = 4 * tiling.Br * d * kElementBytes;
  const Index score_tiles = 2 * tiling.Br * tiling.Bc * kElementBytes;
  const Index statistics = 4 * tiling.Br * kStatisticBytes;
  return column_tiles + row_tiles + score_tiles + statistics;
}

/// What score features add.
constexpr Index flash2_score_columns_shared_bytes(const ScoreFeatures& features,
                                                  const Tiling& tiling, int warps) {
  constexpr Index kStages = 2, kDrawnBytes = 4;
  return score_columns_shared_bytes(features, tiling, warps, kStages, kDrawnBytes);
}

/// Threads of a block in Hopper's own instructions: three warpgroups.
inline constexpr int kFlash2HopperThreads = 3 * 128;

/// The same in Hopper's own instructions: a second slot of dS in place of P's, and ten barriers.
constexpr Index flash2_backward_hopper_shared_bytes(Index d, const Tiling& tiling) {
  return flash2_backward_shared_bytes(d, tiling) + 10 * 8;
}

/// The same in fp32 on the CUDA cores: Kj, Vj, Qi, dOi, and one tile for P and dS, whose rows are
/// four elements longer.
constexpr Index flash2_backward_fp32_shared_bytes(Index d, const Tiling& tiling) {
  constexpr Index kElementBytes = 4;
  return kElementBytes * (2 * (tiling.Br + tiling.Bc) * d + tiling.Br * (tiling.Bc + 4));
}

}  // namespace attnscope::kernels
