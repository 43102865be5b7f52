/// Counts other than bytes: matrix products and all other floating-point operations, by purpose.
#pragma once

#include "sim/observers/flop_counter.h"
#include "sim/simulation.h"

namespace attnscope {

/// One algorithm's operations in one pass, over batch and heads.
struct OperationCount {
  SimulationReport report;
  WorkFlops other{};  ///< adds up to report.non_matmul_flops

  /// Matrix products of 2 N N_kv d operations per head: forward 2; backward 5, or 4 if P is stored.
  double products() const;
  /// The time for which the other operations keep `unit` (CUDA cores or special function units)
  /// busy, divided by the time of the matrix products, both at the peak rates of time_bound.h.
  double time_share(GpuUnit unit, const GpuDescription& gpu) const;
};

/// Counts the operations of a run. Errors as in resolve_and_simulate().
Result<OperationCount> count_operations(const RunSpec& spec, const GpuDescription& gpu);

}  // namespace attnscope
