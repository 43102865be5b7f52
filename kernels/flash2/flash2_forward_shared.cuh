/// Warps and shared memory of one block of flash2's forward launch. Plain C++: the catalog chooses
/// a tiling by it, and the kernel is started with it.
#pragma once

#include "reference/tiling.h"

namespace attnscope::kernels {

/// Qi, then Kj and Vj in stages; 16-bit tiles of width d.
constexpr Index flash2_forward_shared_bytes(Index d, const Tiling& tiling, Index stages = 2) {
  constexpr Index kElementBytes = 2;
  return (tiling.Br + 2 * stages * tiling.Bc) * d * kElementBytes;
}

/// Warps of a block. One has 32 rows where O and S of so many fit its registers and other warps
/// remain, else 16. `scored`: with score features, which take registers of their own.
constexpr int flash2_forward_warps(Index d, const Tiling& tiling, bool scored) {
  const Index most_columns = scored ? 160 : 192;  // of O and S together
  const bool two_pieces = tiling.Br >= 128 && tiling.Br % 32 == 0 && d + tiling.Bc <= most_columns;
  return static_cast<int>(tiling.Br / (two_pieces ? 32 : 16));
}

/// Warps of a block whose warps share the keys of a column tile (knob::kSlicedK): at most four, and
/// each has pieces of 16 keys.
constexpr int flash2_sliced_warps(const Tiling& tiling) {
  int warps = 4;
  while (tiling.Bc % (16 * warps) != 0) warps /= 2;
  return warps;
}

/// What such a warp leaves for the merge, as its threads hold it: O, and m and l of each row in the
/// four threads that share the row.
constexpr Index flash2_slice_bytes(Index d, Index Br) {
  constexpr Index kElementBytes = 4;
  return Br * (d + 8) * kElementBytes;
}

/// Shared memory in fp32 on the CUDA cores, and flash1's: Qi, Kj, Vj and P, whose rows are four
/// elements longer.
constexpr Index flash2_forward_fp32_shared_bytes(Index d, const Tiling& tiling) {
  constexpr Index kElementBytes = 4;
  return kElementBytes * ((tiling.Br + 2 * tiling.Bc) * d + tiling.Br * (tiling.Bc + 4));
}

}  // namespace attnscope::kernels
