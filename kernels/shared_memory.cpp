#include "kernels/shared_memory.h"

#include <algorithm>

#include "kernels/flash1/flash1_backward_shared.h"
#include "kernels/flash2/flash2_backward_shared.h"
#include "kernels/flash2/flash2_forward_shared.h"
#include "reference/head_dim.h"

namespace attnscope::kernels {

namespace {

/// flash1_forward.cuh: Kj and Vj, then Qi and Oi in two stages where Hopper has room, else in one.
Index flash1_forward_shared_bytes(Index d, const Tiling& tiling) {
  constexpr Index kMostBytes = 227 * 1024;
  const Index column_tiles = 2 * tiling.Bc * d * 2;
  const Index row_tiles = 2 * tiling.Br * d * 2;
  const Index two_stages = column_tiles + 2 * row_tiles;
  return two_stages <= kMostBytes ? two_stages : column_tiles + row_tiles;
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
