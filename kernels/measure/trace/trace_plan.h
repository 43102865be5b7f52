/// The amount that a traced launch writes. Plain C++.
#pragma once

#include <string_view>

#include "kernels/catalog.h"
#include "reference/run_spec.h"

namespace attnscope::kernels {

/// The buffers of one traced launch.
struct TracePlan {
  std::string_view launch;        ///< its name, as in LaunchMarks
  std::string_view instructions;  ///< of its matrix products: "mma.sync"
  Tiling tiling;                  ///< of the pass
  Index blocks = 0;               ///< of the grid, at most
  Index events_per_block = 0;     ///< at most
  Index row_step = 0;             ///< every row_step-th row of each head, from row 0; 0: none
  Index rows_per_head = 0;
  Index column_tiles = 0;
  Index row_parts = 1;  ///< warps that share the keys of a column tile, each with its own m, l,
                        ///< alpha
  Index heads = 0;      ///< B H

  Index rows() const { return row_parts * heads * rows_per_head * column_tiles; }
  Index bytes() const;
};

/// The largest size of a trace.
inline constexpr Index kMaxTraceBytes = Index{256} << 20;

/// The plan on a GPU. The kernel must support the run. invalid_request for a kernel without a trace
/// and for a trace of more than kMaxTraceBytes. Rows are recorded only in forward passes.
Result<TracePlan> plan_trace(const ResolvedRun& run, Index row_step, const ProgramTarget& target);

}  // namespace attnscope::kernels
