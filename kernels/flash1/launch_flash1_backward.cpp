#include "kernels/backward_launches.h"
#include "kernels/flash1/flash1_forward_shared.cuh"
#include "kernels/flash1/flash1_parameters.cuh"
#include "kernels/flash1/flash1_programs.h"
#include "kernels/host/hopper.h"
#include "kernels/host/score_tables.h"
#include "kernels/launch_resources.h"
#include "kernels/launches.h"
#include "kernels/score_features.cuh"
#include "kernels/tile_lists.h"
#include "kernels/workspace.h"

namespace attnscope::kernels {

namespace {

Flash1HopperParameters with_maps(const Flash1BackwardParameters& parameters, Index batch) {
  const BackwardParameters& shared = parameters.shared;
  return {parameters, gradient_maps(shared, batch), row_tile_map(shared.O, shared.shape, batch),
          row_tile_map(shared.dQ, shared.shape, batch)};
}

void start_backward(const BackwardArguments& arguments, const Flash1BackwardParameters& parameters,
                    const Tiling& tiling) {
  const AttentionProblem& problem = arguments.problem;
  const bool on_hopper =
      has_hopper_backward(problem, tiling, arguments.knobs) &&
      runs_on_hopper(parameters.shared, problem.dtype, problem.batch, problem.d, tiling);
  const BlockProgram block = flash1_backward_program(
      problem, tiling, on_hopper, {.traced = arguments.trace != nullptr, .knobs = arguments.knobs});
  const Index blocks = problem.batch * problem.heads;
  if (on_hopper) {
    start_traceable(arguments, block, blocks, with_maps(parameters, problem.batch));
  } else {
    start_traceable(arguments, block, blocks, parameters);
  }
}

}  // namespace

std::optional<Error> launch_flash1_backward(const BackwardArguments& arguments,
                                            const Tiling& tiling) {
  const AttentionProblem& problem = arguments.problem;
  const Flash1BackwardWorkspace layout = flash1_backward_workspace(problem);
  const Flash1Workspace forward_layout = flash1_workspace(problem, Carry::problem);  // of m and l
  auto* const workspace = static_cast<std::byte*>(arguments.workspace_dev);
  const auto* const forward = static_cast<const std::byte*>(arguments.forward_workspace_dev);
  Flash1BackwardParameters parameters{
      .shared = backward_parameters(arguments, workspace + layout.dK_heads_offset,
                                    workspace + layout.dV_heads_offset),
      .m = reinterpret_cast<const float*>(forward + forward_layout.m_offset),
      .l = reinterpret_cast<const float*>(forward + forward_layout.l_offset)};
  LaunchTables tables(arguments.resources->tables);
  parameters.shared.scores = tables.scores(problem);
  if (problem.is_packed()) {
    parameters.shared.row_tiles = tables.lists(row_tile_lists(problem, tiling));
  }

  named_launch(arguments, "initialise", [&] {
    const Index rows = problem.batch * problem.heads * problem.N;
    const Index chunks = ceil_div(problem.d * size_bytes(problem.dtype), 16);
    arguments.resources->kernels.start(flash1_zero_dq_program(),
                                       ceil_div(rows * chunks, kFlash1RowThreads), arguments.stream,
                                       parameters.shared.dQ, parameters.shared.shape, rows, chunks);
  });
  named_launch(arguments, "backward", [&] { start_backward(arguments, parameters, tiling); });
  if (problem.heads_per_kv_head() > 1) {
    named_launch(arguments, "sum_heads",
                 [&] { start_sum_heads(arguments, parameters.shared, tiling.Bc); });
  }
  return std::nullopt;
}

}  // namespace attnscope::kernels
