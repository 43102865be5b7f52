/// Threads and shared memory of the blocks of flash1's forward launches. Compiled for host and
/// device: the catalog chooses a tiling by them, and the kernels are started with them.
#pragma once

#include "kernels/score_shared.h"
#include "reference/tiling.h"

namespace attnscope::kernels {

/// A warp for every 16 rows.
constexpr int flash1_forward_warps(const Tiling& tiling) {
  return static_cast<int>(tiling.Br / 16);
}

/// Stages of Qi and Oi in shared memory.
struct Flash1Stages {
  Index Q, O;
};

/// Kj and Vj, then Qi and Oi in these stages. 16-bit tiles, except that O in HBM has elements of
/// `O_element_bytes`.
constexpr Index flash1_forward_bytes_of(const Flash1Stages& stages, Index d, const Tiling& tiling,
                                        Index O_element_bytes) {
  constexpr Index kElementBytes = 2;
  return 2 * tiling.Bc * d * kElementBytes +
         tiling.Br * d * (stages.Q * kElementBytes + stages.O * O_element_bytes);
}

/// Two of each if Hopper has room, else two of Qi alone, else one of each.
constexpr Flash1Stages flash1_forward_stages(Index d, const Tiling& tiling, Index O_element_bytes) {
  constexpr Index kMostBytes = 227 * 1024;
  constexpr Flash1Stages kByPreference[] = {{2, 2}, {2, 1}};
  for (const Flash1Stages& stages : kByPreference) {
    if (flash1_forward_bytes_of(stages, d, tiling, O_element_bytes) <= kMostBytes) return stages;
  }
  return {1, 1};
}

/// Without score features.
constexpr Index flash1_forward_shared_bytes(Index d, const Tiling& tiling,
                                            Index O_element_bytes = 2) {
  const Flash1Stages stages = flash1_forward_stages(d, tiling, O_element_bytes);
  return flash1_forward_bytes_of(stages, d, tiling, O_element_bytes);
}

/// What score features add: each warp notes its rows for itself.
constexpr Index flash1_score_rows_shared_bytes(const ScoreFeatures& features,
                                               const Tiling& tiling) {
  return flash1_forward_warps(tiling) * score_rows_shared_bytes(features, {16, tiling.Bc});
}

/// Threads of a block of the launches beside the loops (flash1_rows.cuh).
inline constexpr int kFlash1RowThreads = 256;

}  // namespace attnscope::kernels
