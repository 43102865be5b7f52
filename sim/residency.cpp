#include "sim/residency.h"

#include <algorithm>
#include <limits>

#include "sim/observers/occupancy.h"
#include "sim/simulation.h"
#include "sim/tiling_rules.h"

namespace attnscope {

SmResource BlockLimits::tightest() const {
  return static_cast<SmResource>(std::ranges::min_element(blocks) - blocks.begin());
}

BlockLimits block_limits(const BlockDemand& block, const GpuDescription& gpu) {
  BlockLimits limits;
  const auto set = [&limits](SmResource resource, Index capacity, Index needed) {
    limits.blocks[static_cast<std::size_t>(resource)] =
        needed > 0 ? capacity / needed : std::numeric_limits<Index>::max();
  };
  set(SmResource::shared_memory, gpu.shared_bytes_per_sm,
      block.shared_bytes + gpu.reserved_shared_bytes_per_block);
  // A warp's registers are in one of the SM's four partitions
  // (cudaOccSubPartitionsPerMultiprocessor of cuda_occupancy.h)
  constexpr Index kParts = 4;
  const Index warps = std::max<Index>(ceil_div(block.threads, kWarpThreads), 1);
  const Index warp_bytes = ceil_div(block.register_bytes, warps);
  const Index warps_with_registers =
      warp_bytes > 0 ? gpu.register_bytes_per_sm / kParts / warp_bytes * kParts : 0;
  set(SmResource::registers, warps_with_registers, warp_bytes > 0 ? warps : 0);
  set(SmResource::threads, gpu.max_threads_per_sm, block.threads);
  set(SmResource::blocks, gpu.max_blocks_per_sm, 1);
  return limits;
}

Index resident_blocks(const BlockDemand& block, Index thread_blocks, const GpuDescription& gpu) {
  const Index allowed = std::ranges::min(block_limits(block, gpu).blocks);
  return std::max<Index>(std::min(allowed, ceil_div(thread_blocks, gpu.sm_count)), 1);
}

std::vector<BlockDemand> model_demands(const Pass& pass, const PassRun& run, Index threads) {
  std::vector<BlockDemand> demands;
  for (const LaunchOccupancy& launch : occupancy_of(pass, run)) {
    demands.push_back(
        {launch.bytes(OnChipSpace::shared), launch.bytes(OnChipSpace::registers), threads});
  }
  return demands;
}

std::vector<BlockDemand> model_demands(const ResolvedRun& run, const GpuDescription& gpu) {
  const ScheduleOptions options = schedule_options(run, gpu);
  const Pass pass = make_pass(*find_algorithm(run.algorithm()), run.pass(), options);
  const Index threads = run.asked.warps.value_or(kPaperWarps) * kWarpThreads;
  return model_demands(pass, {run.problem, run.tiling, options, {}}, threads);
}

std::vector<Index> model_residency(const ResolvedRun& run, const GpuDescription& gpu) {
  std::vector<Index> residency;
  for (const BlockDemand& block : model_demands(run, gpu)) {
    residency.push_back(resident_blocks(block, gpu.max_blocks_per_sm * gpu.sm_count, gpu));
  }
  return residency;
}

}  // namespace attnscope
