#include "sim/warp_report.h"

#include "sim/alike_entries.h"
#include "sim/schedule/catalog.h"

namespace attnscope {

std::optional<WarpReport> count_warps(const SimulationRequest& request, const Tiling& tiling,
                                      const WarpChoice& choice) {
  const Algorithm* algorithm = find_algorithm(request.algorithm);
  if (algorithm == nullptr || !algorithm->warps) return std::nullopt;

  // One head of each kind of batch entry stands for all of them
  const AttentionProblem& problem = request.problem;
  WarpReport report{{choice.partition.value_or(*algorithm->warps), choice.warps}, {}};
  const ScheduleOptions options = schedule_options(request, tiling);
  const Pass pass = make_pass(*algorithm, request.pass, options);
  for (const AlikeEntries& entries : alike_entries(problem)) {
    WarpCounter counter(report.layout);
    Observer* const observers[] = {&counter};
    run_head(pass, {problem, tiling, options, {}}, entries.first, 0, observers);
    report.traffic += counter.total() * (problem.heads * entries.count);
  }
  return report;
}

}  // namespace attnscope
