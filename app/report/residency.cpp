#include "app/report/residency.h"

#include "sim/trace/timeline.h"

namespace attnscope {

Index resident_blocks(const kernels::BlockProgram& block, const kernels::KernelResources& used,
                      const GpuDescription& gpu) {
  constexpr int kRegisterStep = 8;  // registers are given to warps in steps of 8 a thread
  const Index shared_bytes = block.shared_bytes + used.static_shared_bytes;
  const Index registers = ceil_div(used.registers, kRegisterStep) * kRegisterStep;
  const Index register_bytes = registers * size_bytes(DType::fp32) * block.threads;
  const bool fits =
      shared_bytes <= gpu.shared_bytes_per_block && register_bytes <= gpu.register_bytes_per_sm;
  if (!fits) return 0;
  return resident_blocks({shared_bytes, register_bytes, block.threads},
                         gpu.max_blocks_per_sm * gpu.sm_count, gpu);
}

}  // namespace attnscope
