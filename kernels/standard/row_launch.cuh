/// What standard attention's row-wise launches share: a row of an N x N_kv tensor, read and written
/// 16 bytes a thread, and reduced over the threads that hold it.
#pragma once

#include "kernels/device/element_types.cuh"
#include "kernels/forward_parameters.h"

namespace attnscope::kernels {

/// kWidth neighbouring elements as fp32, read past L1 in one access.
template <typename T, int kWidth>
__device__ inline void load_elements(float (&out)[kWidth], const T* source) {
  if constexpr (kWidth == 1) {
    out[0] = static_cast<float>(device::load_past_l1(source));
  } else if constexpr (device::kIsSame<T, float>) {
    const float4 four = __ldcg(reinterpret_cast<const float4*>(source));
    out[0] = four.x, out[1] = four.y, out[2] = four.z, out[3] = four.w;
  } else {
    const uint4 bits = __ldcg(reinterpret_cast<const uint4*>(source));
    const uint32_t pairs[] = {bits.x, bits.y, bits.z, bits.w};
#pragma unroll
    for (int e = 0; e < kWidth; e += 2) {
      const float2 pair = device::unpack<T>(pairs[e / 2]);
      out[e] = pair.x, out[e + 1] = pair.y;
    }
  }
}

/// kWidth neighbouring elements as they are stored: half the registers of fp32.
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
  } else if constexpr (device::kIsSame<T, float>) {
    __stcg(reinterpret_cast<float4*>(destination),
           float4{values[0], values[1], values[2], values[3]});
  } else {
    uint32_t pairs[kWidth / 2];
#pragma unroll
    for (int e = 0; e < kWidth; e += 2) pairs[e / 2] = device::pack<T>(values[e], values[e + 1]);
    __stcg(reinterpret_cast<uint4*>(destination), uint4{pairs[0], pairs[1], pairs[2], pairs[3]});
  }
}

struct Max {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};
struct Sum {
  __device__ float operator()(float a, float b) const { return a + b; }
};

/// Combines one value of each of the kThreads threads that share a row; all of them get the result.
/// kThreads is 32 (the warp's own row) or the whole block.
template <int kThreads, typename Combine>
__device__ inline float reduce_row(float value, Combine combine) {
#pragma unroll
  for (int other = 16; other > 0; other /= 2) {
    value = combine(value, __shfl_xor_sync(0xffffffffu, value, other));
  }
  if constexpr (kThreads > 32) {
    __shared__ float warp_values[kThreads / 32];
    __syncthreads();  // Barrier: every thread has read the values of the reduction before.
    if (threadIdx.x % 32 == 0) warp_values[threadIdx.x / 32] = value;
    __syncthreads();  // Barrier: every warp has written its value.
    value = warp_values[0];
#pragma unroll
    for (int warp = 1; warp < kThreads / 32; ++warp) value = combine(value, warp_values[warp]);
  }
  return value;
}

/// Of the B * H * N rows.
__device__ inline Index row_of_thread(int threads_per_row) {
  return (Index{blockIdx.x} * blockDim.x + threadIdx.x) / threads_per_row;
}

}  // namespace attnscope::kernels
