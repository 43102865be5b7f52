/// What stands around flash2's backward launch: D and an empty dQ_accum before it, the rounding of
/// dQ and, with grouped heads, the sums of dK and dV after it. Twins of the launches "preprocess",
/// "convert" and "sum_heads" of sim/schedule/flash2_backward.cpp and gradients.cpp.
///
/// All are bound by memory: a warp's accesses are whole sectors, past L1.
#include <algorithm>

#include "kernels/device/matrix_fragments.cuh"
#include "kernels/flash2/flash2_backward_start.h"
#include "kernels/host/launch_kernel.h"

namespace attnscope::kernels {

namespace {

constexpr int kThreads = 256;
constexpr int kChunkElements = 8;  ///< 16-bit elements in 16 bytes

/// One tile of a tensor with `tensor_heads` heads of `tensor_rows` rows, by the block's number.
struct TileOfBlock {
  int batch, head;
  Index first_row;
  int rows;
  __device__ TileOfBlock(int tensor_heads, int tensor_rows, int tile_rows) {
    const int tiles = (tensor_rows + tile_rows - 1) / tile_rows;
    const int block = static_cast<int>(blockIdx.x);
    batch = block / tiles / tensor_heads;
    head = block / tiles % tensor_heads;
    first_row = Index{block % tiles} * tile_rows;
    rows = min(tile_rows, tensor_rows - static_cast<int>(first_row));
  }
};

/// A chunk as floats.
template <typename T>
__device__ void load_chunk(float (&out)[kChunkElements], const T* source) {
  const uint4 chunk = __ldcg(reinterpret_cast<const uint4*>(source));
  const std::uint32_t pairs[] = {chunk.x, chunk.y, chunk.z, chunk.w};
#pragma unroll
  for (int n = 0; n < 4; ++n) {
    const float2 pair = device::unpack<T>(pairs[n]);
    out[2 * n] = pair.x;
    out[2 * n + 1] = pair.y;
  }
}

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

/// gradient = sum of `parts` over the query heads of the block's KV head, one column tile.
template <typename T>
__device__ void sum_heads_of(const TensorView& gradient, const TensorView& parts,
                             const TileOfBlock& tile, int heads_per_kv_head, int chunks) {
  const auto destination = rows_of_head<T>(gradient, tile.batch, tile.head);
  for (int n = static_cast<int>(threadIdx.x); n < tile.rows * chunks; n += kThreads) {
    const Index row = tile.first_row + n / chunks;
    const int column = n % chunks * kChunkElements;
    float sum[kChunkElements] = {};
    for (int head = 0; head < heads_per_kv_head; ++head) {
      float part[kChunkElements];
      load_chunk(
          part,
          rows_of_head<const T>(parts, tile.batch, tile.head * heads_per_kv_head + head).row(row) +
              column);
#pragma unroll
      for (int c = 0; c < kChunkElements; ++c) sum[c] += part[c];
    }
    __stcg(reinterpret_cast<uint4*>(destination.row(row) + column),
           uint4{device::pack<T>(sum[0], sum[1]), device::pack<T>(sum[2], sum[3]),
                 device::pack<T>(sum[4], sum[5]), device::pack<T>(sum[6], sum[7])});
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    flash2_sum_heads(const BackwardParameters parameters, int Bc, int chunks) {
  const ForwardShape& shape = parameters.shape;
  const int group = shape.heads_per_kv_head;
  const TileOfBlock tile(shape.heads / group, shape.N_kv, Bc);
  sum_heads_of<T>(parameters.dK, parameters.dK_heads, tile, group, chunks);
  sum_heads_of<T>(parameters.dV, parameters.dV_heads, tile, group, chunks);
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

void start_flash2_sum_heads(const BackwardParameters& parameters, const AttentionProblem& problem,
                            Index Bc, void* stream) {
  const auto kernel =
      problem.dtype == DType::fp16 ? flash2_sum_heads<__half> : flash2_sum_heads<__nv_bfloat16>;
  start_kernel(kernel, problem.batch * problem.kv_heads * ceil_div(problem.N_kv, Bc), kThreads, 0,
               stream, parameters, static_cast<int>(Bc),
               static_cast<int>(problem.d / kChunkElements));
}

}  // namespace attnscope::kernels
