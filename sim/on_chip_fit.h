/// What a thread block keeps on chip, and whether it fits a device.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/device/gpu_description.h"
#include "sim/observers/occupancy.h"
#include "sim/schedule/run_pass.h"

namespace attnscope {

/// A block's memory with d padded to the kernels' multiple.
struct PaddedOnChip {
  Index d = 0;  ///< padded_head_dim() of the problem's
  Index sram_bytes_per_block = 0;
  Index register_bytes_per_block = 0;
  bool fits = true;
};

/// The largest thread block of a pass's launches in each memory.
struct OnChipFit {
  Index sram_bytes_per_block = 0;      ///< of valid elements
  Index register_bytes_per_block = 0;  ///< of valid elements
  bool fits = true;                    ///< including the padding, if any
  std::string overflow_reason;         ///< when it does not fit
  /// With d as a tensor-core kernel pads it; nothing where d needs no padding, or where the
  /// products are a library's, which tiles d as well.
  std::optional<PaddedOnChip> padded;
};

/// What a thread block of each launch keeps on chip.
std::vector<LaunchOccupancy> occupancy_of(const Pass& pass, const PassRun& run);

/// Whether the pass's slots fit a thread block's shared memory and an SM's registers.
OnChipFit on_chip_fit(const Pass& pass, const PassRun& run, const GpuDescription& gpu);

}  // namespace attnscope
