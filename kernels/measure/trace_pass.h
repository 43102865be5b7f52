/// Runs a pass with the instrumented build of its main launch and fetches what it recorded. Called
/// inside Session::run().
#pragma once

#include <vector>

#include "kernels/host/device_buffer.h"
#include "kernels/measure/session.h"
#include "kernels/trace/trace_buffer.h"
#include "kernels/trace/trace_plan.h"
#include "reference/run_spec.h"

namespace attnscope::kernels {

/// The kernel's own records, as attnscope_trace.h describes them.
struct RawTrace {
  TracePlan plan;
  std::vector<TraceBlock> blocks;  ///< those that ran, all of them first in the grid
  std::vector<TraceEvent> events;  ///< [blocks, events_per_block]
  std::vector<TraceRow> rows;      ///< [row_parts, B, H, rows_per_head, column_tiles]
  double time_s = 0.0;             ///< the pass with the instrumented launch
  double plain_time_s = 0.0;       ///< the pass without
};

/// The device memory that a plan asks for.
class TraceMemory {
 public:
  explicit TraceMemory(const TracePlan& plan);

  /// Where no block has begun, and rows are NaN.
  void clear();
  TraceBuffer buffer() const;
  /// What a finished launch wrote, without times. failed when that cannot be.
  Result<RawTrace> fetch() const;

 private:
  TracePlan plan_;
  DeviceBuffer blocks_, events_, rows_;
};

/// The run's pass on its inputs, generated, once to warm up and once recorded. `plan` is of
/// plan_trace().
Result<RawTrace> trace_pass(Session& session, const ResolvedRun& run, const TracePlan& plan);

}  // namespace attnscope::kernels
