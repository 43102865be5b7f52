/// dK and dV of a KV head as sums over its query heads. The twin of the launch "sum_heads" of
/// sim/schedule/gradients.cpp, which ends every backward pass with grouped heads. Bound by memory.
#include "kernels/device/tile_of_block.cuh"
#include "kernels/host/launch_kernel.h"
#include "kernels/sum_heads.h"

namespace attnscope::kernels {

namespace {

using device::load_chunk;
using device::store_chunk;
using device::TileOfBlock;

constexpr int kThreads = 256;

/// gradient = sum of `parts` over the query heads of the block's KV head, one column tile.
template <typename T>
__device__ void sum_heads_of(const TensorView& gradient, const TensorView& parts,
                             const TileOfBlock& tile, int heads_per_kv_head, int d) {
  constexpr int kElements = 16 / static_cast<int>(sizeof(T));
  const int chunks = (d + kElements - 1) / kElements;
  const auto destination = rows_of_head<T>(gradient, tile.batch, tile.head);
  for (int n = static_cast<int>(threadIdx.x); n < tile.rows * chunks; n += kThreads) {
    const Index row = tile.first_row + n / chunks;
    const int column = n % chunks * kElements;
    float sum[kElements] = {};
    for (int head = 0; head < heads_per_kv_head; ++head) {
      float part[kElements];
      const int query_head = tile.head * heads_per_kv_head + head;
      load_chunk(part, rows_of_head<const T>(parts, tile.batch, query_head).row(row), column, d);
#pragma unroll
      for (int c = 0; c < kElements; ++c) sum[c] += part[c];
    }
    store_chunk(destination.row(row), column, d, sum);
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads) sum_heads(const BackwardParameters parameters, int Bc) {
  const ForwardShape& shape = parameters.shape;
  const int group = shape.heads_per_kv_head;
  const TileOfBlock tile(shape.heads / group, shape.N_kv, Bc);
  sum_heads_of<T>(parameters.dK, parameters.dK_heads, tile, group, shape.d);
  sum_heads_of<T>(parameters.dV, parameters.dV_heads, tile, group, shape.d);
}

}  // namespace

void start_sum_heads(const BackwardParameters& parameters, const AttentionProblem& problem,
                     Index Bc, void* stream) {
  auto* kernel = sum_heads<device::Bf16>;
  if (problem.dtype == DType::fp16) kernel = sum_heads<device::Fp16>;
  if (problem.dtype == DType::fp32) kernel = sum_heads<float>;
  start_kernel(kernel, problem.batch * problem.kv_heads * ceil_div(problem.N_kv, Bc), kThreads, 0,
               stream, parameters, static_cast<int>(Bc));
}

}  // namespace attnscope::kernels
