/// Shared memory of one block of flash2's forward launch. Plain C++: the catalog chooses a tiling
/// by it, and the kernel is started with it.
#pragma once

#include "reference/tiling.h"

namespace attnscope::kernels {

/// Qi, then Kj and Vj in two stages; 16-bit tiles of width d.
constexpr Index flash2_forward_shared_bytes(Index d, const Tiling& tiling) {
  constexpr Index kElementBytes = 2;
  return (tiling.Br + 4 * tiling.Bc) * d * kElementBytes;
}

/// The same in fp32 on the CUDA cores, and flash1's: Qi, Kj, Vj and P, whose rows are four elements
/// longer.
constexpr Index flash2_forward_fp32_shared_bytes(Index d, const Tiling& tiling) {
  constexpr Index kElementBytes = 4;
  return kElementBytes * ((tiling.Br + 2 * tiling.Bc) * d + tiling.Br * (tiling.Bc + 4));
}

}  // namespace attnscope::kernels
