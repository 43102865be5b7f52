#include "app/report/kernel_dram.h"

#include <algorithm>

#include "app/report/dram_cache.h"
#include "app/report/residency.h"
#include "reference/algorithm.h"

namespace attnscope {

BlockOrder kernel_block_order(const ResolvedRun& run) {
  const Algorithm& algorithm = *find_algorithm(run.algorithm());
  const bool descends =
      algorithm.softmax == SoftmaxForm::divided_once && run.pass() == PassKind::forward;
  return {descends ? BlockOrder::Kind::descending : BlockOrder::Kind::ascending};
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

void predict_kernel_dram(SimulationReport& report, const GpuDescription& gpu,
                         const std::vector<LaunchCounters>& launches,
                         const PredictionLimits& limits) {
  const BlockPlacement placement{kernel_residency(report, gpu, launches),
                                 kernel_block_order(report.run)};
  const DramCache cache;
  const std::string key = prediction_key(report.run, gpu, placement, limits.most_transfers);
  report.dram = cache.find(key, report.launches.size());
  if (report.dram) return;
  auto prediction = predict_dram(report.run, gpu, placement, limits.most_transfers, limits.cancel);
  if (!prediction) return;
  cache.keep(key, prediction.value());
  report.dram = std::move(prediction).value();
}

}  // namespace attnscope
