#include "sim/trace/write_trace.h"

#include <fmt/core.h>

#include "sim/observers/progress_observer.h"
#include "sim/schedule/algorithm.h"

namespace attnscope {

namespace {

double ratio(Index part, Index whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

Picoseconds run_timeline(const Pass& pass, const PassRun& run, const SimulationReport& report,
                         const GpuDescription& gpu, TimelineSink& sink, Index warps_per_block,
                         Observer* beside) {
  const std::vector<LaunchOccupancy> occupancy = occupancy_of(pass, run);
  std::vector<LaunchShare> shares;
  for (std::size_t launch = 0; launch < occupancy.size(); ++launch) {
    const LaunchReport& counted = report.launches[launch];
    const BlockDemand block{occupancy[launch].bytes(OnChipSpace::shared),
                            occupancy[launch].bytes(OnChipSpace::registers),
                            warps_per_block * kWarpThreads};
    shares.push_back({resident_blocks(block, counted.thread_blocks, gpu),
                      ratio(counted.dram.read_bytes, counted.requested.read_bytes),
                      ratio(counted.dram.write_bytes, counted.requested.write_bytes)});
  }
  Timeline timeline(gpu, run.problem.dtype, std::move(shares), sink);
  std::vector<Observer*> observers{&timeline};
  if (beside != nullptr) observers.push_back(beside);
  run_all_heads(pass, run, observers);
  return timeline.end_ps();
}

Result<TraceSummary> write_trace(const ResolvedRun& run, const GpuDescription& gpu,
                                 const BlockOrder& order, const TextSink& sink,
                                 const std::function<void(double)>& progress) {
  auto report = simulate(run, gpu);
  if (!report) return report.error();
  TraceSummary summary{.report = std::move(report).value()};
  const Index ops = summary.report.tile_ops;
  if (ops > kMaxTraceOps) {
    return invalid_request(
        fmt::format("this trace would hold {} operations; at most {} are written: choose fewer "
                    "heads, a shorter sequence or larger tiles",
                    ops, kMaxTraceOps));
  }

  const ScheduleOptions options = schedule_options(run, gpu);
  const Pass pass = make_pass(*find_algorithm(run.algorithm()), run.pass(), options);
  const AttentionProblem& problem = run.problem;
  const PassRun pass_run{problem, run.tiling, options, order};
  const std::string description =
      fmt::format("{} {}, B {}, H {}, N {}, N_kv {}, d {}, {}, mask {}, {}x{} tiles, on {}",
                  run.algorithm(), to_string(run.pass()), problem.batch, problem.heads, problem.N,
                  problem.N_kv, problem.d, to_string(problem.dtype), to_string(problem.mask),
                  run.tiling.Br, run.tiling.Bc, gpu.display_name);

  ChromeTraceWriter writer(pass, description, sink);
  ProgressObserver teller(std::max<Index>(ops, 1), progress);
  summary.end_ps = run_timeline(pass, pass_run, summary.report, gpu, writer,
                                run.asked.warps.value_or(kPaperWarps), &teller);
  if (!writer.finish()) return failed("the trace could not be written");
  summary.events = writer.event_count();
  return summary;
}

}  // namespace attnscope
