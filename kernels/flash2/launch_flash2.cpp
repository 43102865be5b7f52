#include "kernels/flash2/flash2_scored_start.h"
#include "kernels/flash2/flash2_start.h"
#include "kernels/host/score_tables.h"
#include "kernels/launch_resources.h"
#include "kernels/launches.h"
#include "reference/check.h"

namespace attnscope::kernels {

namespace {

using StartFunction = bool (*)(const ForwardParameters&, Index batch, Index d, const Tiling&,
                               void* stream);

StartFunction start_function(const AttentionProblem& problem) {
  const bool is_fp16 = problem.dtype == DType::fp16;
  if (has_score_parameters(problem)) {
    return is_fp16 ? start_flash2_scored_fp16 : start_flash2_scored_bf16;
  }
  if (problem.dtype == DType::fp32) return start_flash2_fp32;
  return is_fp16 ? start_flash2_fp16 : start_flash2_bf16;
}

}  // namespace

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
    if (arguments.trace != nullptr) {
      auto* const start =
          has_score_parameters(problem) ? start_flash2_scored_traced : start_flash2_traced;
      const bool traced = start(parameters, *arguments.trace, problem.dtype, problem.batch,
                                problem.d, tiling, arguments.stream);
      ATTNSCOPE_CHECK(traced, ==, true);  // plan_trace() names no tiling without an instance
      return;
    }
    const bool started =
        start_function(problem)(parameters, problem.batch, problem.d, tiling, arguments.stream);
    ATTNSCOPE_CHECK(started, ==, true);  // the catalog names no tiling without an instance
  });
}

}  // namespace attnscope::kernels
