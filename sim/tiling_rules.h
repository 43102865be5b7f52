/// Tile sizes from the size of the SRAM.
#pragma once

#include "reference/attention_problem.h"
#include "sim/device/gpu_description.h"

namespace attnscope {

/// arXiv 2205.14135, Algorithm 1, line 1: Bc = ceil(M / 4d), Br = min(Bc, d), for an SRAM of M
/// elements.
Tiling paper_tiling(Index sram_elems, Index d);

/// M: elements of this type in the shared memory that a thread block of the device may use.
Index sram_elems(const GpuDescription& gpu, DType dtype);

/// The paper's tiling on this device.
Tiling paper_tiling(const GpuDescription& gpu, DType dtype, Index d);

}  // namespace attnscope
