#include <bit>

#include "kernels/flash2/flash2_hopper_parameters.cuh"
#include "kernels/host/hopper.h"
#include "kernels/pass_launcher.h"
#include "kernels/workspace.h"

namespace attnscope::kernels {

std::optional<Error> launch_flash2(PassLauncher& pass) {
  const AttentionProblem& problem = pass.problem;
  const PassArguments& arguments = pass.arguments;
  const ForwardParameters parameters{.shape = forward_shape(problem),
                                     .Q = arguments.Q,
                                     .K = arguments.K,
                                     .V = arguments.V,
                                     .O = arguments.O,
                                     .LSE = arguments.LSE_dev,
                                     .column_tiles = pass.tile_lists(),
                                     .scores = pass.scores()};
  const Index blocks = problem.batch * problem.heads * ceil_div(problem.N, pass.tiling.Br);
  if (pass.runs_on_hopper("forward")) {
    pass.start_traceable(
        "forward", blocks,
        Flash2HopperForwardParameters{parameters, forward_maps(parameters, problem, pass.tiling)});
  } else {
    pass.start_traceable("forward", blocks, parameters);
  }
  return std::nullopt;
}

std::optional<Error> launch_flash2_backward(PassLauncher& pass) {
  const AttentionProblem& problem = pass.problem;
  const Flash2BackwardWorkspace layout = flash2_backward_workspace(problem);
  BackwardParameters parameters =
      pass.backward_parameters(layout.dK_heads_offset, layout.dV_heads_offset);
  parameters.D = pass.workspace<float>(layout.D_offset);
  parameters.dQ_accum = pass.workspace<float>(layout.dQ_accum_offset);
  if (pass.arguments.run.asked.deterministic) {
    parameters.dQ_turns = pass.workspace<int>(layout.dQ_turns_offset);
  }
  parameters.scores = pass.scores();
  parameters.row_tiles = pass.tile_lists();

  const Index heads = problem.batch * problem.heads;
  const Index row_blocks = heads * ceil_div(problem.N, pass.tiling.Br);
  const Index column_blocks = heads * ceil_div(problem.N_kv, pass.tiling.Bc);
  const int Br = static_cast<int>(pass.tiling.Br);
  if (problem.dtype == DType::fp32) {
    pass.start("preprocess", row_blocks, parameters, Br);
  } else {
    constexpr Index kChunkElements = 8;  // that a thread reads at once
    const auto chunks = static_cast<unsigned>(ceil_div(problem.d, kChunkElements));
    pass.start("preprocess", row_blocks, parameters, Br, static_cast<int>(std::bit_ceil(chunks)));
  }
  if (pass.runs_on_hopper("backward")) {
    pass.start_traceable("backward", column_blocks,
                         Flash2HopperParameters{parameters, gradient_maps(parameters, problem)});
  } else {
    pass.start_traceable("backward", column_blocks, parameters);
  }
  pass.start("convert", row_blocks, parameters, Br);
  pass.sum_grouped_heads(parameters);
  return std::nullopt;
}

}  // namespace attnscope::kernels
