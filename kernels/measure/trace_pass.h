/// Runs a pass with its main launch traced and fetches the records. Called
/// inside Session::run().
#pragma once

#include <vector>

#include "kernels/device/trace_buffer.cuh"
#include "kernels/host/device_buffer.h"
#include "kernels/measure/session.h"
#include "kernels/measure/trace/kernel_trace.h"
#include "kernels/measure/trace/trace_plan.h"
#include "reference/run_spec.h"

namespace attnscope::kernels {

/// The kernel's records, as trace_buffer.cuh describes them.
struct RawTrace {
  TracePlan plan;
  std::vector<TraceBlock> blocks;  ///< the blocks that ran, head by head
  std::vector<TraceEvent> events;  ///< [blocks, events_per_block]
  std::vector<TraceRow> rows;      ///< [row_parts, B, H, rows_per_head, column_tiles]
  double time_s = 0.0;             ///< the pass with the traced launch
  double plain_time_s = 0.0;       ///< the pass without a trace
};

/// The device memory of a plan.
class TraceMemory {
 public:
  explicit TraceMemory(const TracePlan& plan);

  /// Resets the records: no block has begun, and rows are NaN.
  void clear();
  TraceBuffer buffer() const;
  /// The records of a finished launch, without times. failed if they are inconsistent.
  Result<RawTrace> fetch() const;

 private:
  TracePlan plan_;
  DeviceBuffer blocks_, events_, rows_;
};

/// Decodes the records into a trace of the run, in the tiling that ran. failed if they contradict
/// each other.
Result<KernelTrace> decode(const RawTrace& raw, const ResolvedRun& run, Recording header);

/// Runs the pass on generated inputs, once to warm up and once with recording. `plan` comes from
/// plan_trace().
Result<RawTrace> trace_pass(Session& session, const ResolvedRun& run, const TracePlan& plan);

}  // namespace attnscope::kernels
