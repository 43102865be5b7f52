/// What stands around flash2's backward launch: D and an empty dQ_accum before it, the rounding of
/// dQ after it. Twins of the launches "preprocess" and "convert" of
/// sim/schedule/flash2_backward.cpp and gradients.cpp.
///
/// Both are bound by memory: a warp's accesses are whole sectors, past L1.
#include <algorithm>

#include "kernels/device/tile_of_block.cuh"
#include "kernels/flash2/flash2_backward_start.h"
#include "kernels/host/launch_kernel.h"

namespace attnscope::kernels {

namespace {

using device::kChunkElements;
using device::load_chunk;
using device::TileOfBlock;

constexpr int kThreads = 256;
/// D = rowsum(dO * O); dQ_accum = 0. `chunks` threads share a row; it is a power of two up to 32.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    flash2_preprocess(const BackwardParameters parameters, int Br, int chunks) {
  const ForwardShape& shape = parameters.shape;
  const TileOfBlock tile(shape.heads, shape.N, Br);
  const auto O = rows_of_head<const T>(parameters.O, tile.batch, tile.head);
  const auto dO = rows_of_head<const T>(parameters.dO, tile.batch, tile.head);
  const Index head_row = (Index{tile.batch} * shape.heads + tile.head) * shape.N + tile.first_row;
  const int thread = static_cast<int>(threadIdx.x);
  const int chunk = thread % chunks;

#pragma unroll 4
  for (int first = 0; first < tile.rows; first += kThreads / chunks) {
    const int row = first + thread / chunks;
    float sum = 0.0f;
    if (row < tile.rows) {
      float o[kChunkElements], gradient[kChunkElements];
      load_chunk(o, O.row(tile.first_row + row) + chunk * kChunkElements);
      load_chunk(gradient, dO.row(tile.first_row + row) + chunk * kChunkElements);
#pragma unroll
      for (int n = 0; n < kChunkElements; ++n) sum = fmaf(o[n], gradient[n], sum);
    }
    for (int other = chunks / 2; other > 0; other /= 2) {
      sum += __shfl_xor_sync(0xffffffffu, sum, other);
    }
    if (row < tile.rows && chunk == 0) __stcg(parameters.D + head_row + row, sum);
  }

  const int d = chunks * kChunkElements;
  auto* const dQ_accum = reinterpret_cast<float4*>(parameters.dQ_accum + head_row * d);
  for (int n = thread; n < tile.rows * d / 4; n += kThreads) {
    __stcg(dQ_accum + n, float4{0.0f, 0.0f, 0.0f, 0.0f});
  }
}

/// dQ = softmax_scale dQ_accum, rounded; a thread takes four elements at a time.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    flash2_convert_dq(const BackwardParameters parameters, int Br, int d) {
  const ForwardShape& shape = parameters.shape;
  const TileOfBlock tile(shape.heads, shape.N, Br);
  const auto dQ = rows_of_head<T>(parameters.dQ, tile.batch, tile.head);
  const Index head_row = (Index{tile.batch} * shape.heads + tile.head) * shape.N + tile.first_row;
  const auto* const dQ_accum = reinterpret_cast<const float4*>(parameters.dQ_accum + head_row * d);
  const float scale = shape.softmax_scale;

#pragma unroll 4
  for (int n = static_cast<int>(threadIdx.x); n < tile.rows * d / 4; n += kThreads) {
    const float4 sum = __ldcg(dQ_accum + n);
    T* const destination = dQ.row(tile.first_row + 4 * n / d) + 4 * n % d;
    __stcg(reinterpret_cast<uint2*>(destination),
           uint2{device::pack<T>(scale * sum.x, scale * sum.y),
                 device::pack<T>(scale * sum.z, scale * sum.w)});
  }
}

}  // namespace

void start_flash2_preprocess(const BackwardParameters& parameters, const AttentionProblem& problem,
                             Index Br, void* stream) {
  const auto kernel =
      problem.dtype == DType::fp16 ? flash2_preprocess<__half> : flash2_preprocess<__nv_bfloat16>;
  start_kernel(kernel, problem.batch * problem.heads * ceil_div(problem.N, Br), kThreads, 0, stream,
               parameters, static_cast<int>(Br), static_cast<int>(problem.d / kChunkElements));
}

void start_flash2_convert_dq(const BackwardParameters& parameters, const AttentionProblem& problem,
                             Index Br, void* stream) {
  const auto kernel =
      problem.dtype == DType::fp16 ? flash2_convert_dq<__half> : flash2_convert_dq<__nv_bfloat16>;
  start_kernel(kernel, problem.batch * problem.heads * ceil_div(problem.N, Br), kThreads, 0, stream,
               parameters, static_cast<int>(Br), static_cast<int>(problem.d));
}

}  // namespace attnscope::kernels
