/// Split-KV decoding, the launch "combine": computes O and LSE of every row from those of its
/// splits. It follows the launch of that name in sim/schedule/split_kv.cpp.
///
/// A thread block owns a row: each thread first takes one split's LSE, then four columns of O of
/// every n-th split. The sum of exp(S) over a split is exp(LSE) of the split, so this launch is a
/// softmax whose scores are the splits' LSE. With few rows, only latency matters: the blocks start
/// while "partial" is still running, and all parts of a row are loaded at once.
#pragma once

#include "kernels/device/launch_order.cuh"
#include "kernels/device/online_softmax.cuh"
#include "kernels/split_kv/split_kv_parameters.cuh"

namespace attnscope::kernels {

/// Combines one value from each of the block's warps; all lanes of a warp hold the same value.
template <int kWarps, typename Combine>
__device__ inline float reduce_warps(float value, float (&warp_values)[kWarps], Combine combine) {
  if (threadIdx.x % 32 == 0) warp_values[threadIdx.x / 32] = value;
  __syncthreads();  // Barrier: every warp's value is in shared memory.
  value = warp_values[0];
#pragma unroll
  for (int warp = 1; warp < kWarps; ++warp) value = combine(value, warp_values[warp]);
  return value;
}

/// `lanes` threads, a power of two, share the columns of a part. There are at most as many splits
/// as threads.
template <typename T, int kThreads>
__global__ void __launch_bounds__(kThreads)
    split_kv_combine(const SplitKvParameters parameters, int lanes) {
  using namespace device;
  constexpr int kWarps = kThreads / 32;
  constexpr float kLog2e = 1.4426950408889634f;
  __shared__ float warp_max[kWarps], warp_sum[kWarps], weights[kThreads];
  __shared__ float4 sums[kThreads];
  wait_for_launch_before();
  const ForwardShape& shape = parameters.shape;
  const int splits = parameters.splits;
  const int columns = split_columns(shape.d);
  const Index row = blockIdx.x;
  const int thread = static_cast<int>(threadIdx.x);
  const int column = thread % lanes * 4;
  const int first_split = thread / lanes;
  const int step = kThreads / lanes;

  // load LSE of the splits, the first parts of O @load_split_LSE
  const float* const O_split = parameters.O_split + row * splits * columns + column;
  const auto load_part = [&](int s) {
    const bool exists = s < splits && column < columns;
    return exists ? __ldcg(reinterpret_cast<const float4*>(O_split + Index{s} * columns))
                  : float4{0.0f, 0.0f, 0.0f, 0.0f};
  };
  const float LSE =
      thread < splits ? __ldcg(parameters.LSE_split + row * splits + thread) : kMinusInfinity;
  constexpr int kAhead = 8;
  float4 parts[kAhead];
#pragma unroll
  // @load_split_output
  for (int n = 0; n < kAhead; ++n) parts[n] = load_part(first_split + n * step);

  // m = max(LSE of the splits); beta = exp(LSE - m); l = sum(beta) @update_max
  float m = LSE;
#pragma unroll
  for (int other = 16; other > 0; other /= 2) {
    m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, other));
  }
  m = reduce_warps(m, warp_max, [](float a, float b) { return fmaxf(a, b); });
  const float beta = exp2_fast(fmaf(LSE, kLog2e, -finite_log2(m, kLog2e)));
  weights[thread] = beta;
  float l = beta;  // @update_sum
#pragma unroll
  for (int other = 16; other > 0; other /= 2) l += __shfl_xor_sync(0xffffffffu, l, other);
  l = reduce_warps(l, warp_sum, [](float a, float b) { return a + b; });

  // O = sum(beta O of the split) @update_output
  float4 O{0.0f, 0.0f, 0.0f, 0.0f};  // @start
  const auto add_part = [&](int s, const float4& part) {
    if (s >= splits) return;
    const float weight = weights[s];
    O = {fmaf(weight, part.x, O.x), fmaf(weight, part.y, O.y), fmaf(weight, part.z, O.z),
         fmaf(weight, part.w, O.w)};
  };
#pragma unroll
  for (int n = 0; n < kAhead; ++n) add_part(first_split + n * step, parts[n]);
#pragma unroll 4
  for (int s = first_split + kAhead * step; s < splits; s += step) add_part(s, load_part(s));
  sums[thread] = O;
  __syncthreads();  // Barrier: the sums of all threads are in shared memory.
  if (thread == 0) parameters.LSE[row] = log_sum_exp(m, l, 1.0f);  // @log_sum_exp
  if (thread >= lanes || column >= shape.d) return;
  for (int other = thread + lanes; other < kThreads; other += lanes) {
    const float4 sum = sums[other];
    O = {O.x + sum.x, O.y + sum.y, O.z + sum.z, O.w + sum.w};
  }

  // O = O / l; LSE = m + log l; store O, LSE; a row without keys has O = 0 @normalize
  const float inverse_l = l == 0.0f ? 0.0f : 1.0f / l;
  const Index head = row / shape.N;
  T* const destination =
      rows_of_head<T>(parameters.O, head / shape.heads, head % shape.heads).row(row % shape.N) +
      column;
  const uint32_t pairs[] = {pack<T>(O.x * inverse_l, O.y * inverse_l),
                            pack<T>(O.z * inverse_l, O.w * inverse_l), 0, 0};
  if (shape.d % 8 == 0) {
    __stcg(reinterpret_cast<uint2*>(destination), uint2{pairs[0], pairs[1]});  // @store_output
  } else {
    scatter_chunk(destination, pairs, min(4, shape.d - column));
  }
}

}  // namespace attnscope::kernels
