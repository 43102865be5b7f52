/// The properties of a schedule that depend on the device: its options, the on-chip memory of a
/// thread block and whether that fits, and the sides of tiles (by the paper's rule, from the size
/// of the SRAM, or the largest that fit).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reference/run_spec.h"
#include "sim/device/gpu_description.h"
#include "sim/observers/occupancy.h"
#include "sim/schedule/algorithm.h"

namespace attnscope {

/// The schedule options determined by the problem, the variant and the device.
ScheduleOptions schedule_options(const AttentionProblem& problem, const ScheduleVariant& variant,
                                 const GpuDescription& gpu);
/// The schedule options of a run.
ScheduleOptions schedule_options(const ResolvedRun& run, const GpuDescription& gpu);

/// A block's on-chip memory with d padded as in the kernels.
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
  std::string overflow_reason;         ///< if it does not fit
  /// With d padded as in a tensor-core kernel; nothing if d needs no padding, or if a library
  /// computes the products and tiles d itself.
  std::optional<PaddedOnChip> padded;
};

/// The on-chip memory of a thread block of each launch.
std::vector<LaunchOccupancy> occupancy_of(const Pass& pass, const PassRun& run);

/// Whether the pass's slots fit in a thread block's shared memory and an SM's registers.
OnChipFit on_chip_fit(const Pass& pass, const PassRun& run, const GpuDescription& gpu);

/// arXiv 2205.14135, Algorithm 1, line 1: Bc = ceil(M / 4d), Br = min(Bc, d), for an SRAM of M
/// elements.
Tiling paper_tiling(Index sram_elems, Index d);

/// M: elements of this type in the shared memory that a thread block of the device may use.
Index sram_elems(const GpuDescription& gpu, DType dtype);

/// The paper's tiling on this device.
Tiling paper_tiling(const GpuDescription& gpu, DType dtype, Index d);

/// The paper's rule if the algorithm has one (flash1) and its tiles fit; else the largest square
/// tiling, a multiple of 16, whose slots fit in a thread block's shared memory and an SM's
/// registers. Nothing if not even 16 x 16 fits.
std::optional<Tiling> model_tiling(const Algorithm& algorithm, const AttentionProblem& problem,
                                   const ScheduleVariant& variant, const GpuDescription& gpu,
                                   PassKind pass = PassKind::forward);

/// The tiling of a rule for both sides; nothing if no tile fits.
std::optional<Tiling> tiling_by_rule(const RunSpec& spec, TilingRule rule,
                                     const GpuDescription& gpu);

}  // namespace attnscope
