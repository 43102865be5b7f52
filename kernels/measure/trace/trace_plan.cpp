#include "kernels/measure/trace/trace_plan.h"

#include <string>

#include "kernels/default_tilings.h"
#include "kernels/device/trace_buffer.cuh"
#include "kernels/run_programs.h"
#include "reference/check.h"
#include "reference/key_splits.h"

namespace attnscope::kernels {

namespace {

/// Upper limits of the steps per pair of row tile and column tile, and of the steps around them.
constexpr Index kStepsOfTile = 24;
constexpr Index kStepsAround = 16;

/// The number of thread blocks per head, and the most steps that one of them executes.
struct BlockSize {
  Index blocks_per_head;
  Index steps;
};

BlockSize block_size(BlockWork work, const AttentionProblem& problem, const Tiling& tiling,
                     Index Tr, Index Tc) {
  const Index row_tile_steps = kStepsAround + Tc * kStepsOfTile;
  const Index column_tile_steps = kStepsAround + Tr * kStepsOfTile;
  switch (work) {
    case BlockWork::head:
      return {1, Tc * column_tile_steps};
    case BlockWork::row_tile:
      return {Tr, row_tile_steps};
    case BlockWork::split_of_row_tile:
      return {Tr * most_splits(problem, tiling), row_tile_steps};
    case BlockWork::column_tile:
      return {Tc, column_tile_steps};
  }
  return {};
}

}  // namespace

Index TracePlan::bytes() const {
  return blocks * static_cast<Index>(sizeof(TraceBlock)) +
         blocks * events_per_block * static_cast<Index>(sizeof(TraceEvent)) +
         rows() * static_cast<Index>(sizeof(TraceRow));
}

Result<TracePlan> plan_trace(const ResolvedRun& run, Index row_step, const ProgramTarget& target) {
  const KernelInfo& kernel = kernel_of(run);
  const KernelPass& pass = kernel.pass(run.pass());
  const AttentionProblem& problem = run.problem;
  if (pass.launch.empty()) {
    return not_applicable("algorithm",
                          "kernel {} has no trace: its products are cuBLAS's; flash1, flash2, "
                          "block_sparse2 and split_kv have one",
                          kernel.name);
  }
  const ResolvedRun traced = run_on_gpu(run, target);
  const std::vector<LaunchProgram> programs = programs_of(traced, target, /*traced=*/true);
  const LaunchProgram* const launch = launch_with_products(programs);
  ATTNSCOPE_CHECK(launch != nullptr, ==, true);

  // Size the buffers
  const Index Tr = ceil_div(problem.N, traced.tiling.Br);
  const Index Tc = ceil_div(problem.N_kv, traced.tiling.Bc);
  const BlockSize size = block_size(pass.block_work, problem, traced.tiling, Tr, Tc);
  TracePlan plan;
  plan.launch = pass.launch;
  plan.instructions = launch->block.instructions;
  plan.tiling = traced.tiling;
  plan.heads = problem.batch * problem.heads;
  plan.blocks = plan.heads * size.blocks_per_head;
  plan.events_per_block = size.steps;
  if (run.pass() == PassKind::forward && row_step > 0) {
    plan.row_step = row_step;
    plan.rows_per_head = ceil_div(problem.N, row_step);
    plan.column_tiles = Tc;
    const bool shares_keys =
        pass.block_work == BlockWork::split_of_row_tile || knobs_of(run.asked).sliced_k != 0;
    if (shares_keys) plan.row_parts = launch->block.threads / 32;
  }
  constexpr Index kMaxTiles = 65536;  // a step names its tile in 16 bits
  if (Tr > kMaxTiles || Tc > kMaxTiles) {
    return invalid_field(ErrorCode::too_many, "seq_len",
                         "a trace has at most {} row tiles and column tiles, not {} and {}",
                         kMaxTiles, Tr, Tc);
  }
  if (plan.bytes() > kMaxTraceBytes) {
    return invalid_field(
        ErrorCode::too_many, "seq_len",
        "this trace would take {} MiB on the GPU; at most {} MiB are allowed: choose fewer "
        "heads, a shorter sequence or fewer rows",
        plan.bytes() >> 20, kMaxTraceBytes >> 20);
  }
  return plan;
}

}  // namespace attnscope::kernels
