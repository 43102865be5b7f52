/// Rate of mma.sync.m16n8k16 on one SM: an operation of time_operations().
#pragma once

#include "kernels/device/matrix_fragments.cuh"
#include "kernels/measure/calibrate/operations.cuh"

namespace attnscope::kernels {

/// Products of 16-bit operands in registers, each added to one of eight results.
template <typename T>
struct MatrixProducts {
  static constexpr int kMostThreads = 512;
  device::FragmentA A;
  uint32_t B[2];
  device::FragmentC C[kChains] = {};

  __device__ MatrixProducts() {
#pragma unroll
    for (int n = 0; n < 4; ++n) A[n] = mixed_pair(threadIdx.x * 8 + n);
#pragma unroll
    for (int n = 0; n < 2; ++n) B[n] = mixed_pair(threadIdx.x * 8 + 4 + n);
  }

  template <int kOperations>
  __device__ void run() {
#pragma unroll
    for (int n = 0; n < kOperations; ++n) {
      device::FragmentC& c = C[n % kChains];
      device::multiply_add<T>(c, A, B[0], B[1], c);
    }
  }

  __device__ uint32_t result() const {
    float sum = 0;
#pragma unroll
    for (const device::FragmentC& c : C) sum += c[0] + c[1] + c[2] + c[3];
    return __float_as_uint(sum);
  }
};

}  // namespace attnscope::kernels
