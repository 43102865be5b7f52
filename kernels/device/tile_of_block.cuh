/// For launches that are bound by memory: which tile of a tensor a block owns, and rows of 16-bit
/// elements read 16 bytes a thread, past L1.
#pragma once

#include "kernels/device/matrix_fragments.cuh"
#include "reference/attention_problem.h"

namespace attnscope::kernels::device {

inline constexpr int kChunkElements = 8;  ///< 16-bit elements in 16 bytes

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
__device__ inline void load_chunk(float (&out)[kChunkElements], const T* source) {
  const uint4 chunk = __ldcg(reinterpret_cast<const uint4*>(source));
  const std::uint32_t pairs[] = {chunk.x, chunk.y, chunk.z, chunk.w};
#pragma unroll
  for (int n = 0; n < 4; ++n) {
    const float2 pair = unpack<T>(pairs[n]);
    out[2 * n] = pair.x;
    out[2 * n + 1] = pair.y;
  }
}

}  // namespace attnscope::kernels::device
