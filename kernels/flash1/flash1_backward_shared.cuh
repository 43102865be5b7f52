/// Warps and shared memory of one block of flash1's backward launch. Compiled for host and device:
/// the catalog uses them to choose a tiling, and the launch uses them to start the kernel.
#pragma once

#include "kernels/score_shared.cuh"
#include "reference/tiling.h"

namespace attnscope::kernels {

/// Whether this many warps can share the tiles: each takes whole 16 x 16 pieces of P and dS, of dKj
/// and dVj, and of dQi, whose wide rows are computed in panels.
constexpr bool flash1_backward_warps_fit(int d, const Tiling& tiling, int warps) {
  const auto Br = static_cast<int>(tiling.Br);
  const auto Bc = static_cast<int>(tiling.Bc);
  return warp_parts_fit(Bc, Br, warps) && warp_parts_fit(Bc, d, warps) &&
         warp_parts_fit(Br, d > 128 ? 64 : d, warps);
}

/// Width of the tiles for a padded head dimension: with score features at least 32, since a tile of
/// 64 rows and 16 columns gives work to only four warps.
constexpr Index flash1_backward_width(Index padded, bool scored) {
  return scored && padded < 32 ? 32 : padded;
}

/// Warps of a block: the fewest that leave each thread enough registers beside the sums dKj and dVj
/// and the tiles P and dP; if none do, the most that can share the tiles.
constexpr int flash1_backward_warps(Index d, const Tiling& tiling) {
  constexpr Index kMostWarps = 8, kMostFloats = 96;  // of the sums and tiles, in one thread
  const Index floats = 2 * tiling.Bc * (d + tiling.Br);
  int most = 1;
  for (int warps = 1; warps <= kMostWarps; ++warps) {
    if (!flash1_backward_warps_fit(static_cast<int>(d), tiling, warps)) continue;
    most = warps;
    if (floats <= kMostFloats * warps * 32) break;
  }
  return most;
}

/// Bytes of a word of the dropout mask: four bits for each eight rows of a warp's part.
constexpr int flash1_drawn_bytes(const Tiling& tiling, int warps) {
  const auto Br = static_cast<int>(tiling.Br);
  const int part_rows = Br / warps_across(static_cast<int>(tiling.Bc), Br, warps);
  return part_rows <= 32 ? 2 : 4;
}

/// Bytes of Kj, Vj, two stages of Qi, Oi, dOi and dQi, P and dS, all 16-bit, and two fp32 numbers
/// per row.
constexpr Index flash1_backward_shared_bytes(Index d, const Tiling& tiling) {
  return 2 * (2 * tiling.Bc * d + 8 * tiling.Br * d + 2 * tiling.Br * tiling.Bc) +
         2 * tiling.Br * kStatisticBytes;
}

/// Bytes that score features add.
constexpr Index flash1_score_columns_shared_bytes(const ScoreFeatures& features,
                                                  const Tiling& tiling, int warps) {
  constexpr Index kStages = 1;
  return score_columns_shared_bytes(features, tiling, warps, kStages,
                                    flash1_drawn_bytes(tiling, warps));
}

/// Head dimension and tiling of the only instance with Hopper's own instructions.
inline constexpr int kFlash1HopperHeadDim = 128;
inline constexpr Tiling kFlash1HopperTiling{64, 128};

/// The same as flash1_backward_shared_bytes() with Hopper's own instructions: a second slot of dS
/// in place of P's, the two numbers per row for two row tiles, and ten barriers.
constexpr Index flash1_backward_hopper_shared_bytes(Index d, const Tiling& tiling) {
  return flash1_backward_shared_bytes(d, tiling) + 2 * tiling.Br * kStatisticBytes + 10 * 8;
}

/// Threads of its block: two warpgroups that multiply, and one that loads.
inline constexpr int kFlash1HopperThreads = 3 * 128;

}  // namespace attnscope::kernels
