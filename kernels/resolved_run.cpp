#include "kernels/resolved_run.h"

#include <algorithm>

#include "kernels/catalog.h"
#include "kernels/default_tilings.h"
#include "reference/block_mask.h"

namespace attnscope::kernels {

std::optional<Tiling> asked_tiling(const ResolvedRun& run) {
  if (run.asked.Br || run.asked.Bc) return run.tiling;
  return run.problem.block_mask ? std::optional(run.problem.block_mask->tiling()) : std::nullopt;
}

Tiling tiling_on_gpu(const ResolvedRun& run, const ProgramTarget& target) {
  if (const auto asked = asked_tiling(run)) return *asked;
  return *default_tiling(kernel_of(run), run.pass(), run.problem, run.asked.variant.carry, target,
                         knobs_of(run.asked));
}

bool has_hopper_program(const ResolvedRun& run, const Knobs& knobs) {
  return kernel_of(run).pass(run.pass()).has_hopper_program(run.problem, run.tiling, knobs);
}

bool runs_on_hopper(const ResolvedRun& run, const ProgramTarget& target) {
  return target.has_hopper_instructions() && has_hopper_program(run, knobs_of(run.asked));
}

Index most_list_numbers(const ResolvedRun& run) {
  const AttentionProblem& problem = run.problem;
  const auto numbers = [&](const Tiling& tiles) {
    const Index Tr = ceil_div(problem.N, tiles.Br);
    const Index Tc = ceil_div(problem.N_kv, tiles.Bc);
    const Index visits = problem.block_mask ? problem.block_mask->nonzeros() : Tr * Tc;
    return visits + 2 * std::max(Tr, Tc);  // the beginning of each list, and the end of each
  };
  if (const auto asked = asked_tiling(run)) return numbers(*asked);
  Index most = 0;
  for (const Tiling& own : default_tilings(kernel_of(run), run.pass(), problem)) {
    most = std::max(most, numbers(own));
  }
  return most;
}

WorkspaceLayout workspace_layout(const ResolvedRun& run) {
  const bool counts_tiles =
      run.pass() == PassKind::forward && has_hopper_program(run, knobs_of(run.asked));
  if (counts_tiles) return {{WorkspaceTensor::next_tile, Index{sizeof(std::uint64_t)}}};
  const auto layout_of = kernel_of(run).pass(run.pass()).workspace;
  return layout_of == nullptr ? WorkspaceLayout() : layout_of(run);
}

std::size_t workspace_bytes(const ResolvedRun& run) {
  std::size_t bytes = 0;  // enough for every GPU
  for (const std::string_view capability : {std::string_view(), kHopperComputeCapability}) {
    ResolvedRun tiled = run;
    tiled.tiling = tiling_on_gpu(run, {.compute_capability = std::string(capability)});
    bytes = std::max(bytes, workspace_layout(tiled).bytes());
  }
  if (!kernel_of(run).takes_block_mask) return bytes;
  return bytes + align_up(static_cast<std::size_t>(most_list_numbers(run)) * sizeof(int));
}

}  // namespace attnscope::kernels
