/// Which kernels have an instrumented build, and how much it writes. Plain C++.
#pragma once

#include <string_view>

#include "kernels/catalog.h"
#include "reference/run_spec.h"

namespace attnscope::kernels {

/// The tilings in which the traced launch of the kernel's pass has an instrumented build. Empty if
/// there is none. `scored`: the build for problems with has_score_parameters().
std::vector<Tiling> traced_tilings(const KernelInfo& kernel, PassKind pass, DType dtype, Index d,
                                   bool scored = false);

/// The buffers of one traced launch.
struct TracePlan {
  std::string_view launch;     ///< its name, as in ForwardArguments::before_launch
  Tiling tiling;               ///< of the pass
  Index blocks = 0;            ///< of the grid, at most
  Index events_per_block = 0;  ///< at most
  Index row_step = 0;          ///< every row_step-th row of each head from 0 on; 0: none
  Index rows_per_head = 0;
  Index column_tiles = 0;
  Index row_parts = 1;  ///< warps that share the keys of a column tile, with an m, l, alpha each
  Index heads = 0;      ///< B H

  Index rows() const { return row_parts * heads * rows_per_head * column_tiles; }
  Index bytes() const;
};

/// Largest size of a trace.
inline constexpr Index kMaxTraceBytes = Index{256} << 20;

/// The tiling is asked_tiling() (kernels/resolve.h), else the first of traced_tilings(). The kernel
/// must support the run. invalid_request if no instrumented build exists, and for a trace of more
/// than kMaxTraceBytes. Rows are recorded only in forward passes.
Result<TracePlan> plan_trace(const ResolvedRun& run, Index row_step);

}  // namespace attnscope::kernels
