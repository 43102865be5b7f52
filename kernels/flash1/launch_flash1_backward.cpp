#include "kernels/flash1/flash1_backward_start.h"
#include "kernels/host/score_tables.h"
#include "kernels/launch_resources.h"
#include "kernels/launches.h"
#include "kernels/sum_heads.h"
#include "kernels/workspace.h"
#include "reference/check.h"

namespace attnscope::kernels {

void launch_flash1_backward(const BackwardArguments& arguments, const Tiling& tiling) {
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
  const bool has_scores = has_score_parameters(problem);
  LaunchTables tables(arguments.resources->tables);
  if (has_scores) parameters.shared.scores = tables.scores(problem);
  if (problem.is_packed()) {
    parameters.shared.row_tiles = tables.lists(packed_row_tiles(problem, tiling));
  }

  named_launch(arguments, "initialise", [&] {
    start_flash1_zero_dq(parameters.shared, problem.batch, problem.d, arguments.stream);
  });
  named_launch(arguments, "backward", [&] {
    if (arguments.trace != nullptr) {
      const auto started = [&](auto* start_traced) {
        return start_traced(parameters, *arguments.trace, problem.dtype, problem.batch, problem.d,
                            tiling, arguments.stream);
      };
      const bool traced = has_scores ? started(start_flash1_backward_scored_traced)
                                     : started(start_flash1_backward_hopper_traced) ||
                                           started(start_flash1_backward_traced);
      ATTNSCOPE_CHECK(traced, ==, true);  // plan_trace() names no tiling without an instance
      return;
    }
    if (!has_scores && start_flash1_backward_hopper(parameters, problem.dtype, problem.batch,
                                                    problem.d, tiling, arguments.stream)) {
      return;
    }
    const bool is_fp16 = problem.dtype == DType::fp16;
    auto* start = is_fp16 ? start_flash1_backward_fp16 : start_flash1_backward_bf16;
    if (has_scores) {
      start = is_fp16 ? start_flash1_backward_scored_fp16 : start_flash1_backward_scored_bf16;
    }
    const bool started = start(parameters, problem.batch, problem.d, tiling, arguments.stream);
    ATTNSCOPE_CHECK(started, ==, true);  // the catalog names no tiling without an instance
  });
  if (problem.heads_per_kv_head() == 1) return;
  named_launch(arguments, "sum_heads",
               [&] { start_sum_heads(arguments, parameters.shared, tiling.Bc); });
}

}  // namespace attnscope::kernels
