#include "kernels/backward_launches.h"
#include "kernels/flash2/flash2_hopper_parameters.cuh"
#include "kernels/flash2/flash2_programs.h"
#include "kernels/flash2/launch_flash2.h"
#include "kernels/host/hopper.h"
#include "kernels/host/score_tables.h"
#include "kernels/launch_resources.h"
#include "kernels/launches.h"
#include "kernels/tile_lists.h"
#include "kernels/workspace.h"

namespace attnscope::kernels {

BackwardParameters flash2_backward_parameters(const BackwardArguments& arguments) {
  const AttentionProblem& problem = arguments.problem;
  const Flash2BackwardWorkspace layout = flash2_backward_workspace(problem);
  auto* const workspace = static_cast<std::byte*>(arguments.workspace_dev);
  BackwardParameters parameters = backward_parameters(arguments, workspace + layout.dK_heads_offset,
                                                      workspace + layout.dV_heads_offset);
  parameters.D = reinterpret_cast<float*>(workspace + layout.D_offset);
  parameters.dQ_accum = reinterpret_cast<float*>(workspace + layout.dQ_accum_offset);
  if (arguments.deterministic) {
    parameters.dQ_turns = reinterpret_cast<int*>(workspace + layout.dQ_turns_offset);
  }
  return parameters;
}

void start_flash2_backward(const BackwardArguments& arguments, const BackwardParameters& parameters,
                           const Tiling& tiling) {
  const AttentionProblem& problem = arguments.problem;
  CompiledKernels& kernels = arguments.resources->kernels;
  void* const stream = arguments.stream;
  const Index heads = problem.batch * problem.heads;
  const Index row_blocks = heads * ceil_div(problem.N, tiling.Br);
  const Index column_blocks = heads * ceil_div(problem.N_kv, tiling.Bc);
  const int Br = static_cast<int>(tiling.Br);
  const LaunchKind kind{.listed = parameters.row_tiles != nullptr,
                        .traced = arguments.trace != nullptr,
                        .knobs = arguments.knobs};

  named_launch(arguments, "preprocess", [&] {
    const BlockProgram block = flash2_preprocess_program(problem);
    if (problem.dtype == DType::fp32) {
      kernels.start(block, row_blocks, stream, parameters, Br);
    } else {
      kernels.start(block, row_blocks, stream, parameters, Br, preprocess_lanes(problem));
    }
  });
  named_launch(arguments, "backward", [&] {
    if (!arguments.deterministic && has_hopper_backward(problem, tiling, arguments.knobs) &&
        runs_on_hopper(parameters, problem.dtype, problem.batch, problem.d, tiling)) {
      start_traceable(arguments, flash2_backward_hopper_program(problem, tiling, kind),
                      column_blocks,
                      Flash2HopperParameters{parameters, gradient_maps(parameters, problem.batch)});
    } else {
      start_traceable(arguments, flash2_backward_program(problem, tiling, kind), column_blocks,
                      parameters);
    }
  });
  named_launch(arguments, "convert", [&] {
    kernels.start(flash2_convert_dq_program(problem), row_blocks, stream, parameters, Br);
  });
  if (problem.heads_per_kv_head() == 1) return;
  named_launch(arguments, "sum_heads", [&] { start_sum_heads(arguments, parameters, tiling.Bc); });
}

std::optional<Error> launch_flash2_backward(const BackwardArguments& arguments,
                                            const Tiling& tiling) {
  const AttentionProblem& problem = arguments.problem;
  BackwardParameters parameters = flash2_backward_parameters(arguments);
  LaunchTables tables(arguments.resources->tables);
  parameters.scores = tables.scores(problem);
  if (problem.is_packed()) parameters.row_tiles = tables.lists(row_tile_lists(problem, tiling));
  start_flash2_backward(arguments, parameters, tiling);
  return std::nullopt;
}

}  // namespace attnscope::kernels
