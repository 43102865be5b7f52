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

/// The tilings that the run may have, depending on the GPU.
static std::vector<Tiling> tilings_of_any_gpu(const ResolvedRun& run) {
  if (const auto asked = asked_tiling(run)) return {*asked};
  const KernelInfo& kernel = kernel_of(run);
  std::vector<Tiling> tilings = default_tilings(kernel, run.pass(), run.problem);
  const std::vector<Tiling> own =
      hopper_tilings(kernel, run.pass(), run.problem, knobs_of(run.asked));
  tilings.insert(tilings.end(), own.begin(), own.end());
  return tilings;
}

Index most_list_numbers(const ResolvedRun& run) {
  const AttentionProblem& problem = run.problem;
  Index most = 0;
  for (const Tiling& tiles : tilings_of_any_gpu(run)) {
    const Index Tr = ceil_div(problem.N, tiles.Br);
    const Index Tc = ceil_div(problem.N_kv, tiles.Bc);
    const Index visits = problem.block_mask ? problem.block_mask->nonzeros() : Tr * Tc;
    // The beginning of each list, and the end of each
    most = std::max(most, visits + 2 * std::max(Tr, Tc));
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
  std::size_t bytes = 0;
  ResolvedRun tiled = run;
  for (const Tiling& tiling : tilings_of_any_gpu(run)) {
    tiled.tiling = tiling;
    bytes = std::max(bytes, workspace_layout(tiled).bytes());
  }
  if (!kernel_of(run).takes_block_mask) return bytes;
  return bytes + align_up(static_cast<std::size_t>(most_list_numbers(run)) * sizeof(int));
}

}  // namespace attnscope::kernels
