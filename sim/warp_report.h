/// The warps of a whole problem's pass: what `attnscope-cli simulate` answers under
/// "warps".
#pragma once

#include "sim/observers/warp_counter.h"
#include "sim/simulation.h"

namespace attnscope {

/// How the warps of a thread block are taken.
struct WarpChoice {
  Index warps = 4;                         ///< of a thread block, at most kMaxWarps
  std::optional<WarpPartition> partition;  ///< nothing: the algorithm's own
};

struct WarpReport {
  WarpLayout layout;
  WarpTraffic traffic;  ///< totals over thread blocks, batch and heads
};

/// Counts the pass of a request that simulate() accepted with this tiling; both passes are summed.
/// Nothing for algorithms without a partition, of which no paper tells one.
std::optional<WarpReport> count_warps(const SimulationRequest& request, const Tiling& tiling,
                                      const WarpChoice& choice);

}  // namespace attnscope
