/// For memory-bound launches: the tile of a tensor that a block owns, and reads of rows that bypass
/// L1, 16 bytes per thread.
#pragma once

#include "kernels/device/matrix_fragments.cuh"
#include "kernels/device/shared_tile.cuh"
#include "reference/tiling.h"

namespace attnscope::kernels::device {

inline constexpr int kChunkElements = 8;  ///< 16-bit elements in 16 bytes

/// The tile with the block's number, in a tensor with `tensor_heads` heads of `tensor_rows` rows.
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

/// The chunk of a row that begins at `column`, as floats; zeros from column d on. Rows made of
/// whole chunks are read 16 bytes at a time, others element by element.
template <typename T>
__device__ inline void load_chunk(float (&out)[kChunkElements], const T* row, int column, int d) {
  uint32_t pairs[4];
  if (d % kChunkElements == 0) {
    const uint4 chunk = __ldcg(reinterpret_cast<const uint4*>(row + column));
    pairs[0] = chunk.x, pairs[1] = chunk.y, pairs[2] = chunk.z, pairs[3] = chunk.w;
  } else {
    gather_chunk(pairs, row + column, d - column);
  }
#pragma unroll
  for (int n = 0; n < 4; ++n) {
    const float2 pair = unpack<T>(pairs[n]);
    out[2 * n] = pair.x;
    out[2 * n + 1] = pair.y;
  }
}

/// The reverse, rounded to T.
template <typename T>
__device__ inline void store_chunk(T* row, int column, int d,
                                   const float (&values)[kChunkElements]) {
  const uint32_t pairs[] = {pack<T>(values[0], values[1]), pack<T>(values[2], values[3]),
                            pack<T>(values[4], values[5]), pack<T>(values[6], values[7])};
  if (d % kChunkElements == 0) {
    __stcg(reinterpret_cast<uint4*>(row + column), uint4{pairs[0], pairs[1], pairs[2], pairs[3]});
  } else {
    scatter_chunk(row + column, pairs, d - column);
  }
}

inline constexpr int kFloatChunkElements = 4;

/// Both in fp32, where 16 bytes are four elements.
__device__ inline void load_chunk(float (&out)[kFloatChunkElements], const float* row, int column,
                                  int d) {
  if (d % kFloatChunkElements == 0) {
    const float4 chunk = __ldcg(reinterpret_cast<const float4*>(row + column));
    out[0] = chunk.x, out[1] = chunk.y, out[2] = chunk.z, out[3] = chunk.w;
    return;
  }
#pragma unroll
  for (int n = 0; n < kFloatChunkElements; ++n) {
    out[n] = column + n < d ? __ldcg(row + column + n) : 0.0f;
  }
}

__device__ inline void store_chunk(float* row, int column, int d,
                                   const float (&values)[kFloatChunkElements]) {
  if (d % kFloatChunkElements == 0) {
    __stcg(reinterpret_cast<float4*>(row + column),
           float4{values[0], values[1], values[2], values[3]});
    return;
  }
#pragma unroll
  for (int n = 0; n < kFloatChunkElements; ++n) {
    if (column + n < d) __stcg(row + column + n, values[n]);
  }
}

}  // namespace attnscope::kernels::device
