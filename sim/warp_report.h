/// The warps of a whole problem's pass: what `attnscope-cli simulate` answers under
/// "warps".
#pragma once

#include "sim/observers/warp_counter.h"
#include "sim/simulation.h"

namespace attnscope {

struct WarpReport {
  WarpLayout layout;
  WarpTraffic traffic;  ///< totals over thread blocks, batch and heads
};

/// Counts the pass of a run that simulate() accepted; both passes are summed. Nothing for
/// algorithms without a partition, of which no paper tells one.
std::optional<WarpReport> count_warps(const ResolvedRun& run, const GpuDescription& gpu);

}  // namespace attnscope
