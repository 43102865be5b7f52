/// Warps, stages and shared memory of one block of split_kv's partial launch. Compiled for host and
/// device: the catalog uses them to choose a tiling, and the launch uses them to start the kernel.
/// `d` is the width of the tiles.
#pragma once

#include "reference/tiling.h"

namespace attnscope::kernels {

/// Rows of a row tile: the fewest that the tensor cores accept.
inline constexpr int kSplitRows = 16;

/// Warps of a block. They share the keys of each column tile in equal parts of whole fragments of
/// 16: four, three or two warps, the first of these that divides the number of fragments, else one
/// warp per fragment.
constexpr int split_kv_warps(const Tiling& tiling) {
  const int fragments = static_cast<int>(tiling.Bc / 16);
  for (int warps = 4; warps > 1; --warps) {
    if (fragments % warps == 0) return warps;
  }
  return fragments;
}

/// Width of the tiles for a padded head dimension. With score features there are three: narrower
/// tiles would spill registers.
constexpr Index split_kv_width(Index padded, bool scored) {
  if (!scored) return padded;
  return padded <= 64 ? 64 : (padded <= 128 ? 128 : 256);
}

/// Bytes of Kj and Vj, in 16-bit precision.
constexpr Index split_kv_stage_bytes(Index d, const Tiling& tiling) {
  return 2 * tiling.Bc * d * 2;
}

/// The number of column tiles in shared memory: one is in use, the others are in flight.
constexpr int split_kv_stages(Index d, const Tiling& tiling) {
  const Index stage_bytes = split_kv_stage_bytes(d, tiling);
  if (stage_bytes <= 32 * 1024) return 4;
  return stage_bytes <= 64 * 1024 ? 3 : 2;
}

/// Bytes of Qi, then Kj and Vj in stages, in 16-bit precision. At the end, each warp writes
/// split_kv_warp_floats() floats there, which need less memory.
constexpr Index split_kv_shared_bytes(Index d, const Tiling& tiling) {
  return tiling.Br * d * 2 + split_kv_stages(d, tiling) * split_kv_stage_bytes(d, tiling);
}

/// The number of floats that a warp writes: O, then m and l of each row.
constexpr int split_kv_warp_floats(int d) {
  return kSplitRows * (d + 2);
}

}  // namespace attnscope::kernels
