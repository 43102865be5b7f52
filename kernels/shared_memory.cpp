#include "kernels/shared_memory.h"

#include <algorithm>

#include "kernels/flash1/flash1_backward_shared.h"
#include "kernels/flash2/flash2_backward_shared.h"
#include "kernels/flash2/flash2_forward_shared.h"
#include "reference/head_dim.h"

namespace attnscope::kernels {

namespace {

/// Flash1Shared of flash1_forward.cuh: Kj and Vj, then Qi and Oi in two stages each where Hopper
/// has room, else Qi alone in two, else both in one.
Index flash1_forward_shared_bytes(Index d, const Tiling& tiling) {
  constexpr Index kMostBytes = 227 * 1024;
  const Index column_tiles = 2 * tiling.Bc * d * 2;
  const Index row_tile = tiling.Br * d * 2;
  for (const Index row_tiles : {4, 3}) {
    const Index bytes = column_tiles + row_tiles * row_tile;
    if (bytes <= kMostBytes) return bytes;
  }
  return column_tiles + 2 * row_tile;
}

/// flash1_fp32.cu and flash2_fp32.cu: Qi, Kj, Vj and P, whose rows are
/// four longer.
Index forward_fp32_shared_bytes(Index d, const Tiling& tiling) {
  return 4 * (tiling.Br * d + 2 * tiling.Bc * d + tiling.Br * (tiling.Bc + 4));
}

/// split_kv_partial.cuh: Qi, then Kj and Vj in stages; at the end O, m and l of each of four warps.
Index split_kv_shared_bytes(Index d, const Tiling& tiling) {
  const Index stages = d > 128 ? 3 : 4;
  const Index sweep = tiling.Br * d * 2 + stages * 2 * tiling.Bc * d * 2;
  return std::max(sweep, 4 * tiling.Br * (d + 2) * 4);
}

}  // namespace

Index forward_shared_bytes(const KernelInfo& kernel, DType dtype, Index d, const Tiling& tiling) {
  const Index width = padded_head_dim(d);
  if (kernel.name == "standard") return 0;
  if (dtype == DType::fp32) return forward_fp32_shared_bytes(width, tiling);
  if (kernel.name == "flash1") return flash1_forward_shared_bytes(width, tiling);
  if (kernel.name == "split_kv") return split_kv_shared_bytes(width, tiling);
  return flash2_forward_shared_bytes(width, tiling);
}

Index backward_shared_bytes(const KernelInfo& kernel, DType dtype, Index d, const Tiling& tiling) {
  const Index width = padded_head_dim(d);
  if (kernel.name == "standard") return 0;
  if (dtype == DType::fp32) return flash2_backward_fp32_shared_bytes(width, tiling);
  if (kernel.name == "flash1") return flash1_backward_shared_bytes(width, tiling);
  return flash2_backward_shared_bytes(width, tiling);
}

}  // namespace attnscope::kernels
