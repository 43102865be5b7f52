#include "app/report/kernel_dram.h"

#include <algorithm>

#include "app/report/dram_cache.h"
#include "app/report/residency.h"
#include "kernels/resolve.h"
#include "kernels/run_programs.h"
#include "reference/algorithm.h"

namespace attnscope {

kernels::ProgramTarget program_target(const GpuDescription& gpu) {
  return {gpu.compute_capability, gpu.shared_bytes_per_block, gpu.sm_count};
}

BlockOrder kernel_block_order(const ResolvedRun& run) {
  const Algorithm& algorithm = *find_algorithm(run.algorithm());
  const bool descends =
      algorithm.softmax == SoftmaxForm::divided_once && run.pass() == PassKind::forward;
  const bool is_turned = kernels::knobs_of(run.asked).ascending != 0;
  return {descends && !is_turned ? BlockOrder::Kind::descending : BlockOrder::Kind::ascending};
}

Index kernel_heads_at_once(const ResolvedRun& run, const GpuDescription& gpu) {
  if (run.pass() != PassKind::forward) return 1;
  const auto kernel = kernels::choose_kernel(run.asked);
  if (!kernel) return 1;
  ResolvedRun of_kernel = run;
  of_kernel.asked.kernel = kernel.value()->name;
  if (kernels::supports(of_kernel)) return 1;
  if (!kernels::runs_on_hopper(of_kernel, program_target(gpu))) return 1;
  return kernels::hopper_heads_at_once(run);
}

std::vector<Index> kernel_residency(const SimulationReport& report, const GpuDescription& gpu,
                                    const std::vector<LaunchCounters>& launches) {
  std::vector<Index> residency = model_residency(report.run, gpu);
  for (std::size_t index = 0; index < report.launches.size(); ++index) {
    const LaunchShape* const kernel = recorded_kernel(launches, report.launches[index].name);
    if (kernel != nullptr && kernel->resident_blocks > 0) {
      residency[index] = kernel->resident_blocks;
    }
  }
  return residency;
}

BlockPlacement kernel_placement(const SimulationReport& report, const GpuDescription& gpu,
                                const std::vector<LaunchCounters>& launches) {
  return {kernel_residency(report, gpu, launches), kernel_block_order(report.run),
          kernel_heads_at_once(report.run, gpu)};
}

void predict_kernel_dram(SimulationReport& report, const GpuDescription& gpu,
                         const std::vector<LaunchCounters>& launches,
                         const PredictionLimits& limits) {
  const BlockPlacement placement = kernel_placement(report, gpu, launches);
  const DramCache cache;
  const auto key_of = [&](DramInterval interval) {
    return prediction_key(report.run, gpu, placement, limits.most_transfers, interval);
  };
  const std::string key = key_of(limits.interval);
  report.dram = cache.find(key, report.launches.size());
  if (!report.dram && limits.interval == DramInterval::left_out) {
    report.dram = cache.find(key_of(DramInterval::followed), report.launches.size());
    if (report.dram) report.dram->least = report.dram->most = report.dram->total;
  }
  if (report.dram) return;
  auto prediction = predict_dram(report.run, gpu, placement, limits.most_transfers, limits.cancel,
                                 limits.interval);
  if (!prediction) return;
  cache.keep(key, prediction.value());
  report.dram = std::move(prediction).value();
}

}  // namespace attnscope
