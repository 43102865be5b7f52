#include "kernels/flash2/flash2_backward_start.h"
#include "kernels/flash2/flash2_scored_start.h"
#include "kernels/host/score_tables.h"
#include "kernels/launch_resources.h"
#include "kernels/launches.h"
#include "kernels/sum_heads.h"
#include "kernels/workspace.h"
#include "reference/check.h"

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

void launch_flash2_backward(const BackwardArguments& arguments, const Tiling& tiling,
                            const BackwardParameters& parameters, StartBackward start) {
  const AttentionProblem& problem = arguments.problem;
  void* const stream = arguments.stream;
  const bool is_fp32 = problem.dtype == DType::fp32;
  named_launch(arguments, "preprocess", [&] {
    const auto preprocess = is_fp32 ? start_flash2_preprocess_fp32 : start_flash2_preprocess;
    preprocess(parameters, problem, tiling.Br, stream);
  });
  named_launch(arguments, "backward", [&] {
    const bool is_plain = !has_score_parameters(problem);
    if (arguments.trace != nullptr) {
      const auto started = [&](auto* start_traced) {
        return start_traced(parameters, *arguments.trace, problem.dtype, problem.batch, problem.d,
                            tiling, stream);
      };
      const bool traced = !is_plain ? started(start_flash2_backward_scored_traced)
                                    : started(start_flash2_backward_hopper_traced) ||
                                          started(start_flash2_backward_traced);
      ATTNSCOPE_CHECK(traced, ==, true);  // plan_trace() names no tiling without an instance
      return;
    }
    if (is_plain && start_flash2_backward_hopper(parameters, problem.dtype, problem.batch,
                                                 problem.d, tiling, stream)) {
      return;
    }
    const bool started = start(parameters, problem.batch, problem.d, tiling, stream);
    ATTNSCOPE_CHECK(started, ==, true);  // the catalog names no tiling without an instance
  });
  named_launch(arguments, "convert", [&] {
    const auto convert = is_fp32 ? start_flash2_convert_dq_fp32 : start_flash2_convert_dq;
    convert(parameters, problem, tiling.Br, stream);
  });
  if (problem.heads_per_kv_head() == 1) return;
  named_launch(arguments, "sum_heads",
               [&] { start_sum_heads(parameters, problem, tiling.Bc, stream); });
}

void launch_flash2_backward(const BackwardArguments& arguments, const Tiling& tiling) {
  const AttentionProblem& problem = arguments.problem;
  const bool is_fp16 = problem.dtype == DType::fp16;
  BackwardParameters parameters = flash2_backward_parameters(arguments);
  StartBackward start = is_fp16 ? start_flash2_backward_fp16 : start_flash2_backward_bf16;
  if (problem.dtype == DType::fp32) start = start_flash2_backward_fp32;
  LaunchTables tables(arguments.resources->tables);
  if (has_score_parameters(problem)) {
    parameters.scores = tables.scores(problem);
    start = is_fp16 ? start_flash2_backward_scored_fp16 : start_flash2_backward_scored_bf16;
  }
  if (problem.is_packed()) parameters.row_tiles = tables.lists(packed_row_tiles(problem, tiling));
  launch_flash2_backward(arguments, tiling, parameters, start);
}

}  // namespace attnscope::kernels
