#include "kernels/flash2/launch_flash2.h"

#include "kernels/flash2/flash2_programs.h"
#include "kernels/host/score_tables.h"
#include "kernels/kernel_parameters.h"
#include "kernels/launch_resources.h"
#include "kernels/launches.h"
#include "kernels/tile_lists.h"

namespace attnscope::kernels {

void start_flash2_forward(const ForwardArguments& arguments, const ForwardParameters& parameters,
                          const Tiling& tiling) {
  const AttentionProblem& problem = arguments.problem;
  const BlockProgram block = flash2_forward_program(problem, tiling,
                                                    {.listed = parameters.column_tiles != nullptr,
                                                     .traced = arguments.trace != nullptr,
                                                     .knobs = arguments.knobs});
  const Index blocks = problem.batch * problem.heads * ceil_div(problem.N, tiling.Br);
  start_traceable(arguments, block, blocks, parameters);
}

std::optional<Error> launch_flash2(const ForwardArguments& arguments, const Tiling& tiling) {
  const AttentionProblem& problem = arguments.problem;
  ForwardParameters parameters{
      forward_shape(problem), arguments.Q, arguments.K, arguments.V, arguments.O,
      arguments.LSE_dev};
  LaunchTables tables(arguments.resources->tables);
  parameters.scores = tables.scores(problem);
  if (problem.is_packed()) {
    parameters.column_tiles = tables.lists(column_tile_lists(problem, tiling));
  }
  named_launch(arguments, "forward", [&] { start_flash2_forward(arguments, parameters, tiling); });
  return std::nullopt;
}

}  // namespace attnscope::kernels
