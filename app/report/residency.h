/// How many thread blocks of a compiled kernel an SM holds at once.
#pragma once

#include "kernels/compile/block_program.h"
#include "sim/device/gpu_description.h"

namespace attnscope {

/// Thread blocks of the kernel that an SM of the GPU holds at once; 0 where not even one fits.
/// `used` is what the compiler reports of the block's program.
Index resident_blocks(const kernels::BlockProgram& block, const kernels::KernelResources& used,
                      const GpuDescription& gpu);

}  // namespace attnscope
