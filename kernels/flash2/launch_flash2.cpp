#include "kernels/flash2/flash2_forward_program.h"
#include "kernels/flash2/flash2_start.h"
#include "kernels/host/score_tables.h"
#include "kernels/launch_resources.h"
#include "kernels/launches.h"
#include "reference/check.h"

namespace attnscope::kernels {

namespace {

bool start_fp32(const ForwardArguments& arguments, const ForwardParameters& parameters,
                const Tiling& tiling) {
  const AttentionProblem& problem = arguments.problem;
  if (arguments.trace == nullptr) {
    return start_flash2_fp32(parameters, problem.batch, problem.d, tiling, arguments.stream);
  }
  return start_flash2_fp32_traced(parameters, *arguments.trace, problem.batch, problem.d, tiling,
                                  arguments.stream);
}

}  // namespace

void start_flash2_forward(const ForwardArguments& arguments, const ForwardParameters& parameters,
                          const Tiling& tiling) {
  const AttentionProblem& problem = arguments.problem;
  const BlockProgram block = flash2_forward_program(
      problem, tiling, parameters.column_tiles != nullptr, arguments.trace != nullptr);
  const Index blocks = problem.batch * problem.heads * ceil_div(problem.N, tiling.Br);
  start_traceable(arguments, block, blocks, parameters);
}

void launch_flash2(const ForwardArguments& arguments, const Tiling& tiling) {
  const AttentionProblem& problem = arguments.problem;
  ForwardParameters parameters{
      forward_shape(problem), arguments.Q, arguments.K, arguments.V, arguments.O,
      arguments.LSE_dev};
  LaunchTables tables(arguments.resources->tables);
  if (has_score_parameters(problem)) parameters.scores = tables.scores(problem);
  if (problem.is_packed()) {
    parameters.column_tiles = tables.lists(packed_column_tiles(problem, tiling));
  }
  named_launch(arguments, "forward", [&] {
    if (problem.dtype != DType::fp32) return start_flash2_forward(arguments, parameters, tiling);
    const bool started = start_fp32(arguments, parameters, tiling);
    ATTNSCOPE_CHECK(started, ==, true);  // the catalog names no tiling without an instance
  });
}

}  // namespace attnscope::kernels
