#include "sim/block_mask_request.h"

namespace attnscope {

Result<SimulationRequest> with_block_mask(SimulationRequest request, const BlockPattern& pattern) {
  const Result<Tiling> tiling = settle_tiling(request);
  if (!tiling) return tiling.error();
  request.tiling = tiling.value();
  const auto mask =
      make_block_mask(pattern, request.problem.N, request.problem.N_kv, tiling.value());
  if (!mask) return mask.error();
  request.problem.block_mask = mask.value();
  return request;
}

}  // namespace attnscope
