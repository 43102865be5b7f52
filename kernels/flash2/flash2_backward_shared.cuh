/// Warps and shared memory of the blocks of flash2's backward launches. Compiled for host and
/// device: the catalog uses them to choose a tiling, and the launches use them to start the
/// kernels.
#pragma once

#include "kernels/score_shared.cuh"
#include "reference/tiling.h"

namespace attnscope::kernels {

/// Warps of a block: one for every 16 rows or keys, whichever gives more. If that is fewer than
/// eight and the sums dKj and dVj and the tiles S and dP would fill the registers of a thread,
/// there are more.
constexpr int flash2_backward_warps(Index d, const Tiling& tiling) {
  constexpr Index kEnoughWarps = 8, kMostFloats = 160;  // of the sums and tiles, in one thread
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

/// Bytes of Kj, Vj; two stages of Qi, dOi, LSEi, Di; P and dS. Tiles are 16-bit, statistics fp32.
constexpr Index flash2_backward_shared_bytes(Index d, const Tiling& tiling) {
  constexpr Index kElementBytes = 2;
  const Index column_tiles = 2 * tiling.Bc * d * kElementBytes;
  const Index row_tiles = 4 * tiling.Br * d * kElementBytes;
  const Index score_tiles = 2 * tiling.Br * tiling.Bc * kElementBytes;
  const Index statistics = 4 * tiling.Br * kStatisticBytes;
  return column_tiles + row_tiles + score_tiles + statistics;
}

/// Bytes that score features add.
constexpr Index flash2_score_columns_shared_bytes(const ScoreFeatures& features,
                                                  const Tiling& tiling, int warps) {
  constexpr Index kStages = 2, kDrawnBytes = 4;
  return score_columns_shared_bytes(features, tiling, warps, kStages, kDrawnBytes);
}

/// A block of the programs with Hopper's own instructions: two warpgroups that multiply, and one
/// that loads and stores for them.
inline constexpr int kFlash2GradientConsumers = 2;
inline constexpr int kFlash2HopperThreads = (kFlash2GradientConsumers + 1) * 128;

/// Whether a consumer's registers hold dKj, dVj, S and dP of its 64 keys of the column tile: at
/// most kMostFloats of a thread's 240; the rest is for operands and addresses.
constexpr bool flash2_gradient_holds(Index d, const Tiling& tiling) {
  constexpr Index kMostFloats = 192;
  const bool has_dQ = d > 64 ? tiling.Br == 64 : tiling.Br == 128;  // for both consumers
  return tiling.Bc == 64 * kFlash2GradientConsumers && d >= 64 && has_dQ &&
         d + tiling.Br <= kMostFloats;
}

/// Bytes of Kj, Vj; two stages of Qi, dOi, LSEi, Di; two slots of dS; one of dQ, in fp32; and the
/// barriers. The tiles are as wide as their panels.
constexpr Index flash2_backward_hopper_shared_bytes(Index d, const Tiling& tiling) {
  constexpr Index kElementBytes = 2, kBarriers = 21, kBarrierBytes = 8;
  const Index width = (d + 63) / 64 * 64;
  const Index tiles = 2 * tiling.Bc * width + 4 * tiling.Br * width + 2 * tiling.Br * tiling.Bc;
  const Index dQ = tiling.Br * width * 4;
  return tiles * kElementBytes + dQ + 4 * tiling.Br * kStatisticBytes + kBarriers * kBarrierBytes;
}

/// Like flash2_gradient_holds(), for wide heads: one consumer holds dVj, the other dKj, of all 64
/// keys.
constexpr bool flash2_wide_gradient_holds(Index d, const Tiling& tiling) {
  return tiling.Br == 64 && tiling.Bc == 64 && (d == 192 || d == 256);
}
constexpr int flash2_wide_dO_stages(Index d) {
  return d > 192 ? 1 : 2;
}

/// Bytes of Kj, Vj; two stages of Qi, LSEi, Di, and one or two of dOi; two slots of P and dS; a
/// panel of dQ for each consumer, in fp32; and the barriers.
constexpr Index flash2_backward_wide_shared_bytes(Index d, const Tiling& tiling) {
  constexpr Index kElementBytes = 2, kBarriers = 27, kBarrierBytes = 8;
  const Index row_tiles = 2 + flash2_wide_dO_stages(d);
  const Index tiles = (2 * tiling.Bc + row_tiles * tiling.Br) * d + 4 * tiling.Br * tiling.Bc;
  const Index dQ = kFlash2GradientConsumers * tiling.Br * 64 * 4;
  return tiles * kElementBytes + dQ + 4 * tiling.Br * kStatisticBytes + kBarriers * kBarrierBytes;
}

/// The same in fp32 on the CUDA cores: Kj, Vj, Qi, dOi, and one tile for P and dS, whose rows are
/// padded by four elements.
constexpr Index flash2_backward_fp32_shared_bytes(Index d, const Tiling& tiling) {
  constexpr Index kElementBytes = 4;
  return kElementBytes * (2 * (tiling.Br + tiling.Bc) * d + tiling.Br * (tiling.Bc + 4));
}

}  // namespace attnscope::kernels
