/// Shared memory of one block of flash2's backward launch. Plain C++: a tiling is chosen by it, and
/// the kernel asserts that it uses this much.
#pragma once

#include "reference/tiling.h"

namespace attnscope::kernels {

/// Kj, Vj; two stages of Qi, dOi, LSEi, Di; P and dS. 16-bit tiles, fp32 statistics.
constexpr Index flash2_backward_shared_bytes(Index d, const Tiling& tiling) {
  constexpr Index kElementBytes = 2;
  const Index column_tiles = 2 * tiling.Bc * d * kElementBytes;
  const Index row_tiles = 4 * tiling.Br * d * kElementBytes;
  const Index score_tiles = 2 * tiling.Br * tiling.Bc * kElementBytes;
  const Index statistics = 4 * tiling.Br * kStatisticBytes;
  return column_tiles + row_tiles + score_tiles + statistics;
}

/// The same for Hopper's instances: a second slot of dS in place of P's, and ten barriers.
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
