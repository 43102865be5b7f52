/// Operands for the kernels' steps, and uses of their results.
#pragma once

#include "kernels/device/tile_products.cuh"
#include "kernels/measure/calibrate/stopwatch.cuh"

namespace attnscope::kernels::steps {

/// Random words, one per thread, masked with `kept` and with the bits of `set` set.
__global__ void fill_step_words(uint32_t* __restrict__ words, uint64_t count, uint32_t kept,
                                uint32_t set) {
  const uint64_t n = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (n < count) words[n] = (mixed_bits(static_cast<uint32_t>(n)) & kept) | set;
}

/// Uses every element, so that the compiler cannot remove their computation.
template <int kRowPieces, int kColumns>
__device__ inline float sum_of(const device::Accumulator<kRowPieces, kColumns>& C) {
  float sum = 0.0f;
#pragma unroll
  for (int r = 0; r < kRowPieces; ++r) {
#pragma unroll
    for (int n = 0; n < kColumns / 8; ++n) sum += C[r][n][0] + C[r][n][1] + C[r][n][2] + C[r][n][3];
  }
  return sum;
}

}  // namespace attnscope::kernels::steps
