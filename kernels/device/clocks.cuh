/// The clock of the SM, the timer of the GPU, and the number of the SM that a thread runs on.
#pragma once

#include "reference/fixed_width.h"

namespace attnscope::kernels::device {

__device__ inline uint32_t clock_low() {
  uint32_t cycles;
  asm volatile("mov.u32 %0, %%clock;\n" : "=r"(cycles)::"memory");
  return cycles;
}

__device__ inline uint64_t clock_cycles() {
  uint64_t cycles;
  asm volatile("mov.u64 %0, %%clock64;\n" : "=l"(cycles)::"memory");
  return cycles;
}

__device__ inline uint64_t global_timer_ns() {
  uint64_t ns;
  asm volatile("mov.u64 %0, %%globaltimer;\n" : "=l"(ns)::"memory");
  return ns;
}

__device__ inline int32_t sm_index() {
  int32_t sm;
  asm volatile("mov.u32 %0, %%smid;\n" : "=r"(sm));
  return sm;
}

}  // namespace attnscope::kernels::device
