/// A problem's modelled run as a Chrome trace.
#pragma once

#include "reference/warp_partition.h"
#include "sim/simulation.h"
#include "sim/trace/chrome_trace.h"

namespace attnscope {

/// Largest number of operations in a trace: about 250 MB of JSON, which a browser can still open.
inline constexpr Index kMaxTraceOps = 1'000'000;

/// What was written.
struct TraceSummary {
  SimulationReport report;
  Index events = 0;
  Picoseconds end_ps = 0;
};

/// Runs the pass over every head as a timeline on the GPU; `report` is the result of its
/// simulation. Returns when the last block ends. `beside` (may be null) watches the same
/// operations.
Picoseconds run_timeline(const Pass& pass, const PassRun& run, const SimulationReport& report,
                         const GpuDescription& gpu, TimelineSink& sink,
                         Index warps_per_block = kPaperWarps, Observer* beside = nullptr);

/// Runs the run's pass over every head and streams the trace to `sink`; `progress` (may be empty)
/// receives the completed fraction. invalid_request as in simulate(), and for more than
/// kMaxTraceOps operations, before anything is written. failed when the sink could not write.
Result<TraceSummary> write_trace(const ResolvedRun& run, const GpuDescription& gpu,
                                 const BlockOrder& order, const TextSink& sink,
                                 const std::function<void(double)>& progress);

}  // namespace attnscope
