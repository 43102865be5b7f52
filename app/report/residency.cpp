#include "app/report/residency.h"

#include <algorithm>

namespace attnscope {

namespace {

/// The bytes of registers allocated to warps, in steps of 8 registers per thread.
Index register_bytes_of(Index registers, Index threads) {
  constexpr Index kStep = 8;
  return ceil_div(registers, kStep) * kStep * size_bytes(DType::fp32) * threads;
}

}  // namespace

Index resident_blocks(const kernels::BlockProgram& block, const kernels::KernelResources& used,
                      const GpuDescription& gpu) {
  const Index shared_bytes = block.shared_bytes + used.static_shared_bytes;
  const Index register_bytes = register_bytes_of(used.registers, block.threads);
  const bool fits =
      shared_bytes <= gpu.shared_bytes_per_block && register_bytes <= gpu.register_bytes_per_sm;
  if (!fits) return 0;
  return resident_blocks({shared_bytes, register_bytes, block.threads},
                         gpu.max_blocks_per_sm * gpu.sm_count, gpu);
}

Index thread_blocks(const LaunchShape& kernel) {
  return kernel.grid[0] * kernel.grid[1] * kernel.grid[2];
}

const LaunchShape* recorded_kernel(const std::vector<LaunchCounters>& launches,
                                   std::string_view launch) {
  const auto found = std::ranges::find(launches, launch, &LaunchCounters::name);
  if (found == launches.end() || found->kernels.empty()) return nullptr;
  return &*std::ranges::max_element(found->kernels, {}, thread_blocks);
}

std::vector<LaunchResidency> launch_residency(const SimulationReport& report,
                                              const GpuDescription& gpu,
                                              const std::vector<LaunchCounters>& recorded) {
  const std::vector<BlockDemand> demands = model_demands(report.run, gpu);
  std::vector<LaunchResidency> all;
  for (std::size_t n = 0; n < report.launches.size(); ++n) {
    const LaunchReport& launch = report.launches[n];
    LaunchResidency one{.launch = launch.name,
                        .block = demands[n],
                        .thread_blocks = launch.thread_blocks,
                        .sm_count = gpu.sm_count};
    if (const LaunchShape* const kernel = recorded_kernel(recorded, launch.name)) {
      one.block = {kernel->shared_bytes, register_bytes_of(kernel->registers, kernel->threads),
                   kernel->threads};
      one.is_recorded = true;
    }
    one.limits = block_limits(one.block, gpu);
    one.resident = std::max<Index>(std::ranges::min(one.limits.blocks), 1);
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace attnscope
