/// The DRAM bytes that the model predicts for a kernel's run.
#pragma once

#include <atomic>
#include <vector>

#include "kernels/program_target.h"
#include "kernels/recording/measurement.h"
#include "sim/simulation.h"

namespace attnscope {

/// The properties of the described GPU on which the choice of a kernel's program depends.
kernels::ProgramTarget program_target(const GpuDescription& gpu);

/// The limits on the work of a prediction.
struct PredictionLimits {
  double most_transfers = kMostTransfers;
  const std::atomic<bool>* cancel = nullptr;
  DramInterval interval = DramInterval::followed;
};

/// The order in which the kernel of a run starts the blocks of a head. FlashAttention-2's forward
/// pass starts with the last row tile, which has the most columns under a causal mask, unless a
/// switch says otherwise.
BlockOrder kernel_block_order(const ResolvedRun& run);
/// The number of heads whose blocks the kernel starts in turn: BlockPlacement::heads_at_once.
Index kernel_heads_at_once(const ResolvedRun& run, const GpuDescription& gpu);

/// The number of blocks that an SM holds in each launch, from the recorded kernels of `launches`,
/// else from the model's account of on-chip memory.
std::vector<Index> kernel_residency(const SimulationReport& report, const GpuDescription& gpu,
                                    const std::vector<LaunchCounters>& launches);

/// The placement of the thread blocks of the report's run on the GPU.
BlockPlacement kernel_placement(const SimulationReport& report, const GpuDescription& gpu,
                                const std::vector<LaunchCounters>& launches = {});

/// Sets report.dram to predict_dram() of the report's run, in the order in which its kernel starts
/// thread blocks, unless the prediction exceeds the limits. Reads a prediction that is cached on
/// the user's disk.
void predict_kernel_dram(SimulationReport& report, const GpuDescription& gpu,
                         const std::vector<LaunchCounters>& launches = {},
                         const PredictionLimits& limits = {});

}  // namespace attnscope
