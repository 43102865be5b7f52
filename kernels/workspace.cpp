#include "kernels/workspace.h"

#include <algorithm>

#include "kernels/catalog.h"
#include "kernels/resolved_run.h"
#include "kernels/tile_lists.h"
#include "kernels/workspace_layout.h"

namespace attnscope::kernels {

std::size_t own_workspace_bytes(const ResolvedRun& run, const Tiling& tiling) {
  ResolvedRun tiled = run;
  tiled.tiling = tiling;
  const bool counts_tiles =
      run.pass() == PassKind::forward && has_hopper_program(tiled, knobs_of(run.asked));
  if (counts_tiles) return align_up(kTileCounterBytes);
  const auto own_bytes = kernel_of(run).pass(run.pass()).workspace_bytes;
  return own_bytes == nullptr ? 0 : own_bytes(run.problem, tiling, run.asked.variant.carry);
}

std::size_t workspace_bytes(const ResolvedRun& run) {
  // Enough for every GPU
  const ProgramTarget hopper{.compute_capability = std::string(kHopperComputeCapability)};
  const std::size_t bytes = std::max(own_workspace_bytes(run, tiling_on_gpu(run, {})),
                                     own_workspace_bytes(run, tiling_on_gpu(run, hopper)));
  if (!kernel_of(run).takes_block_mask) return bytes;
  return bytes + align_up(static_cast<std::size_t>(most_list_numbers(run)) * sizeof(int));
}

}  // namespace attnscope::kernels
