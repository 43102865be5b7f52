/// Puts a block mask into a request: the tiling comes first, because the mask lies over its tiles.
#pragma once

#include "reference/block_pattern.h"
#include "sim/simulation.h"

namespace attnscope {

/// The request with its tiling settled (its own, else the default one) and the mask drawn over it.
/// invalid_request as simulate() and make_block_mask() give it.
Result<SimulationRequest> with_block_mask(SimulationRequest request, const BlockPattern& pattern);

}  // namespace attnscope
