/// The position of a thread in the launch, read again at each call, so that a value used before and
/// after a long loop needs no register during the loop.
#pragma once

namespace attnscope::kernels::device {

__device__ inline int block_index() {
  int value;
  asm volatile("mov.u32 %0, %%ctaid.x;\n" : "=r"(value));
  return value;
}

/// Blocks of the launch.
__device__ inline int block_count() {
  int value;
  asm volatile("mov.u32 %0, %%nctaid.x;\n" : "=r"(value));
  return value;
}

__device__ inline int thread_index() {
  int value;
  asm volatile("mov.u32 %0, %%tid.x;\n" : "=r"(value));
  return value;
}

}  // namespace attnscope::kernels::device
