/// The rules that set the sides of tiles: the paper's, from the size of the SRAM, and the largest
/// tiles that fit.
#pragma once

#include <optional>

#include "reference/run_spec.h"
#include "sim/device/gpu_description.h"

namespace attnscope {

/// arXiv 2205.14135, Algorithm 1, line 1: Bc = ceil(M / 4d), Br = min(Bc, d), for an SRAM of M
/// elements.
Tiling paper_tiling(Index sram_elems, Index d);

/// M: elements of this type in the shared memory that a thread block of the device may use.
Index sram_elems(const GpuDescription& gpu, DType dtype);

/// The paper's tiling on this device.
Tiling paper_tiling(const GpuDescription& gpu, DType dtype, Index d);

/// The paper's rule where the algorithm has one (flash1) and its tiles fit; else the largest square
/// tiling, a multiple of 16, whose slots fit a thread block's shared memory and an SM's registers.
/// Nothing when not even 16 x 16 fits.
std::optional<Tiling> default_tiling(const Algorithm& algorithm, const AttentionProblem& problem,
                                     const ScheduleVariant& variant, const GpuDescription& gpu,
                                     PassKind pass = PassKind::forward);

/// The tiling of a rule for both sides; nothing when no tile fits.
std::optional<Tiling> tiling_by_rule(const RunSpec& spec, TilingRule rule,
                                     const GpuDescription& gpu);

}  // namespace attnscope
