/// Shared memory of one block of split_kv's partial launch. Plain C++: the catalog chooses a tiling
/// by it, and the kernel asserts that it uses this much.
#pragma once

#include <algorithm>

#include "reference/tiling.h"

namespace attnscope::kernels {

/// Warps of a block. They share the keys of each column tile: warp w has its w-th quarter.
inline constexpr int kSplitWarps = 4;

/// Qi, then Kj and Vj in stages, in 16 bits; at the end O, m and l of each warp in fp32.
constexpr Index split_kv_shared_bytes(Index d, const Tiling& tiling) {
  const Index stages = d > 128 ? 3 : 4;
  const Index sweep = tiling.Br * d * 2 + stages * 2 * tiling.Bc * d * 2;
  return std::max(sweep, kSplitWarps * tiling.Br * (d + 2) * 4);
}

}  // namespace attnscope::kernels
