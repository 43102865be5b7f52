/// The launches before and after flash2's backward launch: "preprocess" computes D and clears
/// dQ_accum, "convert" rounds dQ. The schedules are in sim/schedule/flash2_backward.cpp and
/// gradients.cpp.
///
/// Both are memory-bound: a warp accesses whole sectors and bypasses L1.
#pragma once

#include "kernels/backward_parameters.cuh"
#include "kernels/device/gradient_products.cuh"
#include "kernels/device/tile_of_block.cuh"
#include "kernels/flash2/flash2_backward_shared.cuh"

namespace attnscope::kernels {

/// The position of the tile's rows in dQ_accum.
__device__ inline float* dQ_accum_of_tile(const BackwardParameters& parameters,
                                          const device::TileOfBlock& tile) {
  const ForwardShape& shape = parameters.shape;
  const Index head = Index{tile.batch} * shape.heads + tile.head;
  const Index row_piece = head * dQ_accum_row_pieces(shape.N) + tile.first_row / 16;
  return parameters.dQ_accum + row_piece * dQ_accum_pieces(shape.d) * device::kFragmentFloats;
}

/// D = rowsum(dO * O); dQ_accum and the turns are set to 0. `lanes` threads, a power of two up to
/// 32, share a row, one chunk each. Br is at most kFlash2RowThreads.
template <typename T>
__global__ void __launch_bounds__(kFlash2RowThreads)
    flash2_preprocess(const BackwardParameters parameters, int Br, int lanes) {
  using namespace device;
  __shared__ float D[kFlash2RowThreads];
  const ForwardShape& shape = parameters.shape;
  const TileOfBlock tile(shape.heads, shape.N, Br);
  const auto O = rows_of_head<const T>(parameters.O, tile.batch, tile.head);
  const auto dO = rows_of_head<const T>(parameters.dO, tile.batch, tile.head);
  const Index head_row = (Index{tile.batch} * shape.heads + tile.head) * shape.N + tile.first_row;
  const int thread = static_cast<int>(threadIdx.x);
  const int column = thread % lanes * kChunkElements;

#pragma unroll 4
  for (int first = 0; first < tile.rows; first += kFlash2RowThreads / lanes) {
    const int row = first + thread / lanes;
    float sum = 0.0f;
    if (row < tile.rows && column < shape.d) {
      float o[kChunkElements], gradient[kChunkElements];
      load_chunk(o, O.row(tile.first_row + row), column, shape.d);  // @load_row_tile
      load_chunk(gradient, dO.row(tile.first_row + row), column, shape.d);
#pragma unroll
      for (int n = 0; n < kChunkElements; ++n) sum = fmaf(o[n], gradient[n], sum);  // @row_dot
    }
    for (int other = lanes / 2; other > 0; other /= 2) {
      sum += __shfl_xor_sync(0xffffffffu, sum, other);
    }
    if (row < tile.rows && column == 0) D[row] = sum;
  }
  __syncthreads();  // Barrier: D of all rows is in shared memory; it is stored in whole sectors.
  if (thread < tile.rows) __stcg(parameters.D + head_row + thread, D[thread]);  // @store_D

  if (parameters.dQ_turns != nullptr && thread < 2) {  // two counters for each row tile
    parameters.dQ_turns[thread * gridDim.x + blockIdx.x] = 0;
  }
  auto* const dQ_accum = reinterpret_cast<float4*>(dQ_accum_of_tile(parameters, tile));
  const int chunks = (tile.rows + 15) / 16 * dQ_accum_pieces(shape.d) * kFragmentFloats / 4;
  for (int n = thread; n < chunks; n += kFlash2RowThreads) {
    __stcg(dQ_accum + n, float4{0.0f, 0.0f, 0.0f, 0.0f});  // @zero_dQ
  }
}

/// dQ = softmax_scale dQ_accum, rounded, from fragment order to rows. A warp passes 16 rows and 32
/// columns at a time through shared memory, so that it reads and writes whole sectors of HBM.
template <typename T>
__global__ void __launch_bounds__(kFlash2RowThreads)
    flash2_convert_dq(const BackwardParameters parameters, int Br) {
  using namespace device;
  constexpr int kPieces = 4;         // pieces of 8 columns for each warp
  constexpr int kRowWords = 16 + 4;  // two elements each; the padding spreads rows over the banks
  __shared__ __align__(16) uint32_t shared[kFlash2RowThreads / 32][16 * kRowWords];
  const ForwardShape& shape = parameters.shape;
  const TileOfBlock tile(shape.heads, shape.N, Br);
  const auto dQ = rows_of_head<T>(parameters.dQ, tile.batch, tile.head);
  const float* const dQ_accum = dQ_accum_of_tile(parameters, tile);
  const int pieces = dQ_accum_pieces(shape.d);
  const int groups = (pieces + kPieces - 1) / kPieces;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  uint32_t* const words = shared[threadIdx.x / 32];
  const float scale = shape.softmax_scale;

  for (int n = static_cast<int>(threadIdx.x) / 32; n < (tile.rows + 15) / 16 * groups;
       n += kFlash2RowThreads / 32) {
    // load fragments; round @load_fp32
    const int first_row = n / groups * 16;
    const int first_piece = n % groups * kPieces;
    const int row = lane / 4;
    const auto* const source = reinterpret_cast<const float4*>(
        dQ_accum + (n / groups * pieces + first_piece) * kFragmentFloats);
#pragma unroll
    for (int piece = 0; piece < kPieces; ++piece) {
      if (first_piece + piece >= pieces || first_row + row >= tile.rows) continue;
      const float4 sum = __ldcg(source + piece * 32 + lane);
      uint32_t* const word = words + row * kRowWords + piece * 4 + lane % 4;
      word[0] = pack<T>(scale * sum.x, scale * sum.y);  // @round
      word[8 * kRowWords] = pack<T>(scale * sum.z, scale * sum.w);
    }
    __syncwarp();  // Barrier: the rows are in shared memory before they are read.

    // store rows @store_dQ
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int stored_row = row + 8 * half;
      const int column = (first_piece + lane % 4) * kChunkElements;
      const uint4 chunk =
          *reinterpret_cast<const uint4*>(words + stored_row * kRowWords + lane % 4 * 4);
      if (column >= shape.d || first_row + stored_row >= tile.rows) continue;
      T* const destination = dQ.row(tile.first_row + first_row + stored_row) + column;
      if (shape.d % kChunkElements == 0) {
        __stcg(reinterpret_cast<uint4*>(destination), chunk);
      } else {
        const uint32_t pairs[] = {chunk.x, chunk.y, chunk.z, chunk.w};
        scatter_chunk(destination, pairs, shape.d - column);
      }
    }
    __syncwarp();  // Barrier: the rows have been read before the next ones are written.
  }
}

}  // namespace attnscope::kernels
