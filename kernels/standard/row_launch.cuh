/// Code shared by standard attention's row-wise launches: a row of an N x N_kv tensor is read and
/// written with 16 bytes per thread, and reduced over the threads that hold it.
#pragma once

#include "kernels/device/element_types.cuh"
#include "kernels/forward_parameters.cuh"

namespace attnscope::kernels {

/// kWidth neighbouring elements as fp32, read in one access that bypasses L1.
template <typename T, int kWidth>
__device__ inline void load_elements(float (&out)[kWidth], const T* source) {
  if constexpr (kWidth == 1) {
    out[0] = static_cast<float>(device::load_past_l1(source));
  } else {
    const uint4 bits = __ldcg(reinterpret_cast<const uint4*>(source));
    const T* elements = reinterpret_cast<const T*>(&bits);
#pragma unroll
    for (int e = 0; e < kWidth; ++e) out[e] = static_cast<float>(elements[e]);
  }
}

/// kWidth neighbouring elements as stored in memory: half as many registers as in fp32.
template <typename T, int kWidth>
struct RowPiece {
  T elements[kWidth];
  __device__ float value(int e) const { return static_cast<float>(elements[e]); }
};

template <typename T, int kWidth>
__device__ inline void load_piece(RowPiece<T, kWidth>& out, const T* source) {
  if constexpr (kWidth == 1) {
    out.elements[0] = device::load_past_l1(source);
  } else {
    const uint4 bits = __ldcg(reinterpret_cast<const uint4*>(source));
    memcpy(out.elements, &bits, sizeof bits);
  }
}

template <typename T, int kWidth>
__device__ inline void store_elements(T* destination, const float (&values)[kWidth]) {
  if constexpr (kWidth == 1) {
    destination[0] = static_cast<T>(values[0]);
  } else {
    uint4 bits;
    T* elements = reinterpret_cast<T*>(&bits);
#pragma unroll
    for (int e = 0; e < kWidth; ++e) elements[e] = static_cast<T>(values[e]);
    __stcg(reinterpret_cast<uint4*>(destination), bits);
  }
}

struct Max {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};
struct Sum {
  __device__ float operator()(float a, float b) const { return a + b; }
};

/// Combines one value from each of the kThreads threads that share a row; all of them receive the
/// result. kThreads is 32 (the warp's own row) or the whole block.
template <int kThreads, typename Combine>
__device__ inline float reduce_row(float value, Combine combine) {
#pragma unroll
  for (int other = 16; other > 0; other /= 2) {
    value = combine(value, __shfl_xor_sync(0xffffffffu, value, other));
  }
  if constexpr (kThreads > 32) {
    __shared__ float warp_values[kThreads / 32];
    __syncthreads();  // Barrier: every thread has read the values of the previous reduction.
    if (threadIdx.x % 32 == 0) warp_values[threadIdx.x / 32] = value;
    __syncthreads();  // Barrier: every warp has written its value.
    value = warp_values[0];
#pragma unroll
    for (int warp = 1; warp < kThreads / 32; ++warp) value = combine(value, warp_values[warp]);
  }
  return value;
}

/// Index of the thread's row among the B * H * N rows.
__device__ inline Index row_of_thread(int threads_per_row) {
  return (Index{blockIdx.x} * blockDim.x + threadIdx.x) / threads_per_row;
}

}  // namespace attnscope::kernels
