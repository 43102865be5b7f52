#include "sim/warp_report.h"

#include "sim/schedule/catalog.h"

namespace attnscope {

std::optional<WarpReport> count_warps(const SimulationRequest& request, const Tiling& tiling,
                                      const WarpChoice& choice) {
  const Algorithm* algorithm = find_algorithm(request.algorithm);
  if (algorithm == nullptr || !algorithm->warps) return std::nullopt;

  // Heads are alike; batch entries are, but for their key lengths
  const AttentionProblem& problem = request.problem;
  WarpReport report{{choice.partition.value_or(*algorithm->warps), choice.warps}, {}};
  WarpCounter counter(report.layout);
  Observer* const observers[] = {&counter};
  const ScheduleOptions options = schedule_options(request, tiling);
  const Pass pass = make_pass(*algorithm, request.pass, options);
  const Index entries = problem.has_key_lengths() ? problem.batch : 1;
  for (Index b = 0; b < entries; ++b) {
    run_head(pass, {problem, tiling, options, {}}, b, 0, observers);
  }
  report.traffic = counter.total() * (problem.heads * problem.batch / entries);
  return report;
}

}  // namespace attnscope
