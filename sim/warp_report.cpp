#include "sim/warp_report.h"

#include "sim/alike_entries.h"
#include "sim/schedule/algorithm.h"

namespace attnscope {

std::optional<WarpReport> count_warps(const ResolvedRun& run, const GpuDescription& gpu) {
  const Algorithm& algorithm = *find_algorithm(run.algorithm());
  if (!algorithm.warps) return std::nullopt;

  // One head of each kind of batch entry stands for all of them
  const AttentionProblem& problem = run.problem;
  WarpReport report{
      {run.asked.warp_partition.value_or(*algorithm.warps), run.asked.warps.value_or(kPaperWarps)},
      {}};
  const ScheduleOptions options = schedule_options(run, gpu);
  const Pass pass = make_pass(algorithm, run.pass(), options);
  for (const AlikeEntries& entries : alike_entries(problem)) {
    WarpCounter counter(report.layout);
    Observer* const observers[] = {&counter};
    run_head(pass, {problem, run.tiling, options, {}}, entries.first, 0, observers);
    report.traffic += counter.total() * (problem.heads * entries.count);
  }
  return report;
}

}  // namespace attnscope
