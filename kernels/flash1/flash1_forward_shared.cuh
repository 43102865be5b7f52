/// Threads and shared memory of the blocks of flash1's forward launches. Compiled for host and
/// device: the catalog uses them to choose a tiling, and the launches use them to start the
/// kernels.
#pragma once

#include "kernels/score_shared.cuh"
#include "reference/tiling.h"

namespace attnscope::kernels {

/// A warp for every 16 rows.
constexpr int flash1_forward_warps(const Tiling& tiling) {
  return static_cast<int>(tiling.Br / 16);
}

/// How many of the stages in shared memory belong to Qi, and how many to Oi.
constexpr Index flash1_stages_of_Q(Index stages) {
  return stages - stages / 2;
}
constexpr Index flash1_stages_of_O(Index stages) {
  return stages / 2;
}

/// Bytes without score functions: Kj and Vj, then Qi and Oi in `stages`. Tiles are 16-bit, except
/// O, whose elements take `O_element_bytes` as in HBM.
constexpr Index flash1_forward_shared_bytes(Index stages, Index d, const Tiling& tiling,
                                            Index O_element_bytes) {
  constexpr Index kElementBytes = 2;
  return 2 * tiling.Bc * d * kElementBytes + tiling.Br * d *
                                                 (flash1_stages_of_Q(stages) * kElementBytes +
                                                  flash1_stages_of_O(stages) * O_element_bytes);
}

/// Stages of Qi and Oi together, within `most_bytes`: 4 (two of each) if they fit; else 3 (two of
/// Qi and one of Oi) if they fit; else 2 (one of each).
constexpr Index flash1_forward_stages(Index d, const Tiling& tiling, Index O_element_bytes,
                                      Index most_bytes) {
  for (Index stages = 4; stages > 2; --stages) {
    if (flash1_forward_shared_bytes(stages, d, tiling, O_element_bytes) <= most_bytes) {
      return stages;
    }
  }
  return 2;
}

/// Bytes that score features add: the keys and dropout bits of each warp's rows.
constexpr Index flash1_score_rows_shared_bytes(const ScoreFeatures& features,
                                               const Tiling& tiling) {
  return flash1_forward_warps(tiling) * score_rows_shared_bytes(features, {16, tiling.Bc});
}

/// Threads of a block of the launches before and after the loops (flash1_rows.cuh).
inline constexpr int kFlash1RowThreads = 256;

}  // namespace attnscope::kernels
