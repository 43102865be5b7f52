#include "kernels/run_programs.h"

#include <algorithm>

#include "kernels/catalog.h"
#include "kernels/default_tilings.h"
#include "kernels/flash2/flash2_backward_shared.cuh"
#include "kernels/flash2/flash2_forward_shared.cuh"
#include "kernels/kernel_parameters.h"
#include "reference/tiling.h"

namespace attnscope::kernels {

bool runs_on_hopper(const ResolvedRun& run, const ProgramTarget& target) {
  return target.has_hopper_instructions() && has_hopper_program(run, knobs_of(run.asked));
}

std::optional<ProgramAgents> agents_of(const ResolvedRun& run, const ProgramTarget& target) {
  if (!runs_on_hopper(run, target)) return std::nullopt;
  const Knobs knobs = knobs_of(run.asked);
  const Index width = padded_head_dim(run.problem.d);
  if (run.pass() == PassKind::forward) {
    const Flash2HopperLayout layout = flash2_hopper_layout(
        width, run.tiling, knobs.stages, knobs.persistent != 0, score_features(run.problem));
    const Index consumers = flash2_hopper_consumers(run.tiling);
    const bool takes_turns = knobs.ping_pong != 0 && knobs.overlap != 0 && consumers == 2;
    return ProgramAgents{.consumers = consumers,
                         .stages = knobs.stages,
                         .loads_ahead = knobs.persistent != 0,
                         .stores_beside_next = layout.O != 0,
                         .overlaps_softmax = knobs.overlap != 0,
                         .trims = knobs.trim != 0 && !takes_turns && knobs.visit_hidden == 0};
  }
  const bool is_flash2 = kernel_of(run).pass(run.pass()).block_work != BlockWork::head;
  if (!is_flash2 || !flash2_gradient_holds(width, run.tiling)) return std::nullopt;
  constexpr Index kStages = 2;  // of Qi, dOi and their statistics: flash2_gradient_block.cuh
  return ProgramAgents{kFlash2GradientConsumers, kStages};
}

Index hopper_heads_at_once(const ResolvedRun& run) {
  const AttentionProblem& problem = run.problem;
  const bool together = knobs_of(run.asked).heads_together != 0;
  if (!together || !problem.mask.is_causal() || problem.is_packed()) return 1;
  const Index kv_bytes = 2 * problem.N_kv * problem.d * size_bytes(problem.dtype);
  return flash2_hopper_heads_at_once(problem.batch * problem.kv_heads, problem.heads_per_kv_head(),
                                     kv_bytes, ceil_div(problem.N, run.tiling.Br));
}

bool visits_lists(const ResolvedRun& run) {
  const KernelInfo& kernel = kernel_of(run);
  return kernel.takes_block_mask || (run.problem.is_packed() && !kernel.forward.uses_cublas());
}

std::vector<LaunchProgram> programs_of(const ResolvedRun& run, const ProgramTarget& target,
                                       bool traced) {
  const LaunchKind kind{.listed = visits_lists(run),
                        .traced = traced,
                        .hopper = runs_on_hopper(run, target),
                        .knobs = knobs_of(run.asked),
                        .shared_bytes_per_block = target.shared_bytes_per_block};
  std::vector<LaunchProgram> programs = kernel_of(run).programs(run, kind);
  if (run.pass() == PassKind::backward && run.problem.heads_per_kv_head() > 1) {
    constexpr int kThreads = 256;
    programs.push_back({"sum_heads",
                        {.program = kernel_program("sum_heads", run.problem.dtype, kThreads),
                         .threads = kThreads}});
  }
  return programs;
}

const LaunchProgram* launch_with_products(std::span<const LaunchProgram> programs) {
  const auto found = std::ranges::find_if(programs, [](const LaunchProgram& launch) {
    return !launch.block.instructions.empty() || !launch.block.limit.empty();
  });
  return found == programs.end() ? nullptr : &*found;
}

std::string_view instructions_of(std::span<const LaunchProgram> programs) {
  const LaunchProgram* const launch = launch_with_products(programs);
  return launch == nullptr ? "cuBLAS" : launch->block.instructions;
}

WorkspaceLayout workspace_layout(const ResolvedRun& run) {
  using enum WorkspaceTensor;
  const AttentionProblem& p = run.problem;
  const auto layout_of = kernel_of(run).pass(run.pass()).workspace;
  WorkspaceLayout layout = layout_of == nullptr ? WorkspaceLayout() : layout_of(run);
  if (run.pass() == PassKind::forward) {
    const bool counts_tiles = has_hopper_program(run, knobs_of(run.asked));
    layout.add(next_tile, counts_tiles ? Index{sizeof(std::uint64_t)} : 0);
  } else if (p.heads_per_kv_head() > 1) {
    const Index bytes = p.batch * p.heads * p.N_kv * p.d * size_bytes(p.dtype);
    layout.add(dK_heads, bytes);
    layout.add(dV_heads, bytes);
  }
  return layout;
}

std::size_t workspace_bytes(const ResolvedRun& run) {
  std::size_t bytes = 0;
  ResolvedRun tiled = run;
  for (const Tiling& tiling : possible_tilings(run)) {
    tiled.tiling = tiling;
    bytes = std::max(bytes, workspace_layout(tiled).bytes());
  }
  return bytes;
}

}  // namespace attnscope::kernels
