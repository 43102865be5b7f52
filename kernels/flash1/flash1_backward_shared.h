/// Shared memory of one block of flash1's backward launch. Plain C++: the catalog chooses a tiling
/// by it, and the kernel asserts that it uses this much.
#pragma once

#include "reference/tiling.h"

namespace attnscope::kernels {

/// Kj, Vj, two stages of Qi, Oi, dOi and dQi, P and dS in 16 bits; two fp32 numbers per row.
constexpr Index flash1_backward_shared_bytes(Index d, const Tiling& tiling) {
  return 2 * (2 * tiling.Bc * d + 8 * tiling.Br * d + 2 * tiling.Br * tiling.Bc) +
         2 * tiling.Br * kStatisticBytes;
}

/// The same for Hopper's instances: a second slot of dS in place of P's, the two numbers of two row
/// tiles, and ten barriers.
constexpr Index flash1_backward_hopper_shared_bytes(Index d, const Tiling& tiling) {
  return flash1_backward_shared_bytes(d, tiling) + 2 * tiling.Br * kStatisticBytes + 10 * 8;
}

}  // namespace attnscope::kernels
