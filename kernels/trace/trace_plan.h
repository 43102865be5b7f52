/// Which kernels have an instrumented build, and how much it writes. Plain C++.
#pragma once

#include <string_view>

#include "kernels/catalog.h"
#include "reference/run_spec.h"

namespace attnscope::kernels {

/// The tilings that the instrumented build of the kernel's pass was compiled with: those of the
/// pass's launch that is traced. Empty where there is none. `scored`: that of problems with
/// has_score_parameters().
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

/// Largest trace that is taken.
inline constexpr Index kMaxTraceBytes = Index{256} << 20;

/// The tiling is asked_tiling() (kernels/resolve.h), else the first of traced_tilings(). The run is
/// one that the kernel supports. invalid_request where no instrumented build exists, and for a
/// trace of more than kMaxTraceBytes. Rows are recorded in forward passes alone.
Result<TracePlan> plan_trace(const ResolvedRun& run, Index row_step);

}  // namespace attnscope::kernels
