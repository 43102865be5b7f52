/// The launches before and after flash1's loops, which work on whole rows in HBM: "initialise"
/// writes the initial O, l and m (Algorithm 1, line 2) or dQ; "convert" rounds an O that was kept
/// in fp32 in HBM; "lse" computes LSE.
#pragma once

#include "kernels/device/online_softmax.cuh"
#include "kernels/flash1/flash1_forward_shared.cuh"
#include "kernels/flash1/flash1_parameters.cuh"

namespace attnscope::kernels {

/// Row number `row` of a [B, H, N, d] tensor.
template <typename T>
__device__ T* row_pointer(const TensorView& tensor, const ForwardShape& shape, Index row) {
  const Index head = row / shape.N;
  return rows_of_head<T>(tensor, head / shape.heads, head % shape.heads).row(row % shape.N);
}

/// Sets a chunk of a row of `columns` elements to 0: 16 bytes at once if rows consist of whole
/// chunks.
template <typename T>
__device__ void clear_chunk(T* row, Index chunk, int columns) {
  constexpr int kElements = 16 / static_cast<int>(sizeof(T));
  T* const place = row + chunk * kElements;
  if (columns % kElements == 0) {
    *reinterpret_cast<uint4*>(place) = uint4{0, 0, 0, 0};
    return;
  }
  const int left = columns - static_cast<int>(chunk) * kElements;
  for (int n = 0; n < min(left, kElements); ++n) place[n] = T{};
}

/// O = 0, l = 0, m = -inf; one chunk of 16 bytes per thread. O has `columns` columns.
template <typename Carried>
__global__ void __launch_bounds__(kFlash1RowThreads)
    flash1_initialise(const Flash1Parameters parameters, Index rows, Index chunks, int columns) {
  const Index thread = Index{blockIdx.x} * kFlash1RowThreads + threadIdx.x;
  const Index row = thread / chunks;
  if (row >= rows) return;
  const Index chunk = thread % chunks;
  clear_chunk(row_pointer<Carried>(parameters.O, parameters.shape, row), chunk, columns);
  if (chunk != 0) return;
  parameters.l[row] = 0.0f;
  parameters.m[row] = device::kMinusInfinity;
}

/// dQ = 0; one chunk of 16 bytes per thread.
__global__ void __launch_bounds__(kFlash1RowThreads)
    flash1_zero_dq(const TensorView dQ, const ForwardShape shape, Index rows, Index chunks) {
  const Index thread = Index{blockIdx.x} * kFlash1RowThreads + threadIdx.x;
  const Index row = thread / chunks;
  if (row >= rows) return;
  clear_chunk(row_pointer<device::Fp16>(dQ, shape, row), thread % chunks, shape.d);
}

/// O = carried O, rounded; four elements per thread. If the rows of O are multiples of 16 bytes,
/// the four are written together, otherwise one by one.
template <typename T>
__global__ void __launch_bounds__(kFlash1RowThreads)
    flash1_convert(const TensorView O, const Flash1Parameters parameters, Index rows,
                   Index chunks) {
  const Index thread = Index{blockIdx.x} * kFlash1RowThreads + threadIdx.x;
  const Index row = thread / chunks;
  if (row >= rows) return;
  const ForwardShape& shape = parameters.shape;
  const int column = static_cast<int>(thread % chunks) * 4;
  const float4 carried = __ldcg(  // @load_fp32
      reinterpret_cast<const float4*>(row_pointer<float>(parameters.O, shape, row) + column));
  T* const destination = row_pointer<T>(O, shape, row) + column;
  if (shape.d * static_cast<int>(sizeof(T)) % 16 != 0) {
    const float four[] = {carried.x, carried.y, carried.z, carried.w};
#pragma unroll
    for (int n = 0; n < 4; ++n) {
      if (column + n < shape.d) destination[n] = static_cast<T>(four[n]);
    }
  } else if constexpr (sizeof(T) == 4) {
    __stcg(reinterpret_cast<float4*>(destination), carried);
  } else {
    __stcg(reinterpret_cast<uint2*>(destination),  // @round @store_output
           uint2{device::pack<T>(carried.x, carried.y), device::pack<T>(carried.z, carried.w)});
  }
}

__global__ void __launch_bounds__(kFlash1RowThreads)
    flash1_lse(float* LSE, const Flash1Parameters parameters, Index rows) {
  const Index row = Index{blockIdx.x} * kFlash1RowThreads + threadIdx.x;
  if (row >= rows) return;
  LSE[row] = device::log_sum_exp(__ldcg(parameters.m + row), __ldcg(parameters.l + row),
                                 parameters.shape.softmax_scale);
}

}  // namespace attnscope::kernels
