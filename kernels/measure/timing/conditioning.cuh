/// Kernels that put the GPU into a known state before a pass.
#pragma once

#include "kernels/device/clocks.cuh"

namespace attnscope::kernels {

/// Reads `count` times 16 bytes of zeros; writes only if their sum is a value that zeros never
/// give.
template <int kThreads>
__global__ void __launch_bounds__(kThreads)
    sweep_cache(const uint4* __restrict__ zeros, uint64_t count, unsigned* __restrict__ sink) {
  const uint64_t stride = uint64_t{gridDim.x} * kThreads;
  unsigned sum = 0;
  for (uint64_t i = uint64_t{blockIdx.x} * kThreads + threadIdx.x; i < count; i += stride) {
    const uint4 value = __ldcg(&zeros[i]);
    sum += value.x + value.y + value.z + value.w;
  }
  if (sum == 0xffffffffu) *sink = sum;
}

/// Keeps one thread waiting.
template <uint64_t kDuration_ns>
__global__ void occupy_stream() {
  const uint64_t begin_ns = device::global_timer_ns();
  while (device::global_timer_ns() - begin_ns < kDuration_ns) {
  }
}

}  // namespace attnscope::kernels
