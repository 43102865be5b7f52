/// dK and dV of a KV head as sums over its query heads. It follows the launch "sum_heads" of
/// sim/schedule/gradients.cpp, which ends every backward pass with grouped heads. Memory-bound.
#pragma once

#include "kernels/backward_parameters.cuh"
#include "kernels/device/tile_of_block.cuh"

namespace attnscope::kernels {

/// gradient = sum of `parts` over the query heads of the block's KV head, one column tile.
template <typename T, int kThreads>
__device__ inline void sum_heads_of(const TensorView& gradient, const TensorView& parts,
                                    const device::TileOfBlock& tile, int heads_per_kv_head, int d) {
  using namespace device;
  constexpr int kElements = 16 / static_cast<int>(sizeof(T));
  const int chunks = (d + kElements - 1) / kElements;
  const auto destination = rows_of_head<T>(gradient, tile.batch, tile.head);
  for (int n = static_cast<int>(threadIdx.x); n < tile.rows * chunks; n += kThreads) {
    const Index row = tile.first_row + n / chunks;
    const int column = n % chunks * kElements;
    float sum[kElements] = {};  // @start
    for (int head = 0; head < heads_per_kv_head; ++head) {
      float part[kElements];
      const int query_head = tile.head * heads_per_kv_head + head;
      // @load_head_gradients
      load_chunk(part, rows_of_head<const T>(parts, tile.batch, query_head).row(row), column, d);
#pragma unroll
      for (int c = 0; c < kElements; ++c) sum[c] += part[c];  // @add_heads
    }
    store_chunk(destination.row(row), column, d, sum);  // @store_key_gradients
  }
}

template <typename T, int kThreads>
__global__ void __launch_bounds__(kThreads) sum_heads(const BackwardParameters parameters, int Bc) {
  const ForwardShape& shape = parameters.shape;
  const int group = shape.heads_per_kv_head;
  const device::TileOfBlock tile(shape.heads / group, shape.N_kv, Bc);
  sum_heads_of<T, kThreads>(parameters.dK, parameters.dK_heads, tile, group, shape.d);
  sum_heads_of<T, kThreads>(parameters.dV, parameters.dV_heads, tile, group, shape.d);
}

}  // namespace attnscope::kernels
