/// The number of thread blocks that an SM holds at once, and the resource that limits it.
#pragma once

#include <array>
#include <vector>

#include "reference/enum_names.h"
#include "reference/run_spec.h"
#include "sim/device/gpu_description.h"
#include "sim/schedule/algorithm.h"

namespace attnscope {

/// The resource demand of a thread block.
struct BlockDemand {
  Index shared_bytes = 0;  ///< without the system's reservation
  Index register_bytes = 0;
  Index threads = 0;
};

/// The resources that an SM has for its thread blocks.
enum class SmResource : std::uint8_t { shared_memory, registers, threads, blocks };
inline constexpr std::size_t kSmResources = 4;
constexpr std::array<std::string_view, kSmResources> enum_names(SmResource) {
  return {"shared memory", "registers", "threads", "blocks"};
}

/// The number of blocks that each resource of an SM would allow if it were the only limit: 0 if one
/// block needs more than the SM has.
struct BlockLimits {
  std::array<Index, kSmResources> blocks{};

  Index operator[](SmResource resource) const { return blocks[static_cast<std::size_t>(resource)]; }
  /// The resource that allows the fewest blocks; the first if there are several.
  SmResource tightest() const;
};
BlockLimits block_limits(const BlockDemand& block, const GpuDescription& gpu);

/// Thread blocks of a launch that one SM holds at once: at most block_limits(), and at most the
/// launch's blocks per SM; at least one.
Index resident_blocks(const BlockDemand& block, Index thread_blocks, const GpuDescription& gpu);

/// The demand of a block of each launch, with on-chip memory as the model counts it. `threads`: the
/// number of threads of a block.
std::vector<BlockDemand> model_demands(const Pass& pass, const PassRun& run, Index threads);
/// The same for a run, with the number of warps that it sets.
std::vector<BlockDemand> model_demands(const ResolvedRun& run, const GpuDescription& gpu);

/// The number of thread blocks of each launch that an SM holds at once, with on-chip memory as the
/// model counts it.
std::vector<Index> model_residency(const ResolvedRun& run, const GpuDescription& gpu);

}  // namespace attnscope
