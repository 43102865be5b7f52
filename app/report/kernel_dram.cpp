#include "app/report/kernel_dram.h"

#include <algorithm>

#include "reference/algorithm.h"

namespace attnscope {

namespace {

/// Thread blocks of the launch that an SM holds; 0 where none were recorded. A launch of several
/// kernels is the one with the largest grid.
Index recorded_residency(const std::vector<LaunchCounters>& launches, const std::string& name) {
  const auto launch = std::ranges::find(launches, name, &LaunchCounters::name);
  if (launch == launches.end() || launch->kernels.empty()) return 0;
  const auto blocks = [](const LaunchShape& kernel) {
    return kernel.grid[0] * kernel.grid[1] * kernel.grid[2];
  };
  return std::ranges::max_element(launch->kernels, {}, blocks)->resident_blocks;
}

BlockPlacement kernel_placement(const SimulationReport& report, const GpuDescription& gpu,
                                const std::vector<LaunchCounters>& launches) {
  BlockPlacement placement{model_residency(report.run, gpu), {}};
  for (std::size_t index = 0; index < report.launches.size(); ++index) {
    const Index recorded = recorded_residency(launches, report.launches[index].name);
    if (recorded > 0) placement.residency[index] = recorded;
  }

  // The kernels of FlashAttention-2's forward pass start with the last row tile, which has the most
  // columns under a causal mask
  const Algorithm& algorithm = *find_algorithm(report.run.algorithm());
  if (algorithm.softmax == SoftmaxForm::divided_once && report.run.pass() == PassKind::forward) {
    placement.order.kind = BlockOrder::Kind::descending;
  }
  return placement;
}

}  // namespace

void predict_kernel_dram(SimulationReport& report, const GpuDescription& gpu,
                         const std::vector<LaunchCounters>& launches,
                         const PredictionLimits& limits) {
  auto prediction = predict_dram(report.run, gpu, kernel_placement(report, gpu, launches),
                                 limits.most_transfers, limits.cancel);
  report.dram.reset();
  if (prediction) report.dram = std::move(prediction).value();
}

}  // namespace attnscope
