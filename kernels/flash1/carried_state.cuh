/// Moves O, m and l between a warp's registers and HBM. O, in its HBM precision, passes through 16
/// rows of shared memory, so that accesses to HBM are 16 bytes wide.
#pragma once

#include "kernels/device/online_softmax.cuh"
#include "kernels/device/tile_products.cuh"
#include "kernels/flash1/flash1_parameters.cuh"

namespace attnscope::kernels::device {

/// 16 rows of O in shared memory. fp32 rows are as long as 16-bit rows of twice the head dimension.
template <typename Carried, int d>
using CarriedTile = SharedTile<16, d* static_cast<int>(sizeof(Carried)) / 2>;

/// Columns of O in memory: fp32 rows consist of whole 16-byte pieces.
template <typename Carried>
__device__ constexpr int carried_columns(int d) {
  return kIsSame<Carried, float> ? flash1_carried_columns(d) : d;
}

/// Address of the two neighbouring elements of row `row`, C tile n, that a lane holds.
template <typename Carried, int d>
__device__ inline uint32_t pair_address(const CarriedTile<Carried, d>& tile, int row, int n,
                                        int lane) {
  const int pair_byte = (n * 8 + lane % 4 * 2) * static_cast<int>(sizeof(Carried));
  return tile.chunk_address(row, pair_byte / 16) + pair_byte % 16;
}

/// Starts the copy of 16 rows of O by one warp, like load_tile_async(); store_carried() is the
/// reverse. An fp32 row consists of whole pieces, whatever the number of columns, and is up to 1 KB
/// long.
template <Columns kColumns, typename Carried, int kWidth>
__device__ inline void load_carried(const SharedTile<16, kWidth>& tile, const Carried* source,
                                    Index stride_row, int valid_rows, int lane, int columns) {
  if constexpr (kColumns == Columns::all || sizeof(Carried) == 2) {
    load_tile_async<32, kColumns>(tile, source, stride_row, valid_rows, lane, columns);
  } else {
#pragma unroll 1
    for (int n = lane; n < 16 * tile.kChunks; n += 32) {
      const int row = n / tile.kChunks, chunk = n % tile.kChunks;
      copy_async_16(tile.chunk_address(row, chunk), source + row * stride_row + chunk * 4,
                    row < valid_rows && chunk * 4 < columns);
    }
  }
}

template <Columns kColumns, typename Carried, int kWidth>
__device__ inline void store_carried(Carried* destination, Index stride_row,
                                     const SharedTile<16, kWidth>& tile, int valid_rows, int lane,
                                     int columns) {
  if constexpr (kColumns == Columns::all || sizeof(Carried) == 2) {
    store_tile<32, kColumns>(destination, stride_row, tile, valid_rows, lane, columns);
  } else {
#pragma unroll 1
    for (int n = lane; n < 16 * tile.kChunks; n += 32) {
      const int row = n / tile.kChunks, chunk = n % tile.kChunks;
      if (row >= valid_rows || chunk * 4 >= columns) continue;
      uint32_t value[4];
      load_chunk_shared(value, tile.chunk_address(row, chunk));
      __stcg(reinterpret_cast<uint4*>(destination + row * stride_row + chunk * 4),
             uint4{value[0], value[1], value[2], value[3]});
    }
  }
}

/// Reads O from shared memory into registers.
template <typename Carried, int d>
__device__ inline void read_carried(Accumulator<1, d>& O, const CarriedTile<Carried, d>& tile,
                                    int lane) {
#pragma unroll
  for (int n = 0; n < d / 8; ++n) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const uint32_t address = pair_address<Carried, d>(tile, half * 8 + lane / 4, n, lane);
      float2 pair;
      if constexpr (kIsSame<Carried, float>) {
        asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];\n"
                     : "=f"(pair.x), "=f"(pair.y)
                     : "r"(address)
                     : "memory");
      } else {
        uint32_t bits;
        asm volatile("ld.shared.u32 %0, [%1];\n" : "=r"(bits) : "r"(address) : "memory");
        pair = unpack<Carried>(bits);
      }
      O[0][n][2 * half] = pair.x;
      O[0][n][2 * half + 1] = pair.y;
    }
  }
}

/// Writes O from registers to shared memory, rounded to the carried precision.
template <typename Carried, int d>
__device__ inline void write_carried(const CarriedTile<Carried, d>& tile,
                                     const Accumulator<1, d>& O, int lane) {
#pragma unroll
  for (int n = 0; n < d / 8; ++n) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const uint32_t address = pair_address<Carried, d>(tile, half * 8 + lane / 4, n, lane);
      const float first = O[0][n][2 * half];
      const float second = O[0][n][2 * half + 1];
      if constexpr (kIsSame<Carried, float>) {
        asm volatile("st.shared.v2.f32 [%0], {%1, %2};\n" ::"r"(address), "f"(first), "f"(second)
                     : "memory");
      } else {
        asm volatile("st.shared.u32 [%0], %1;\n" ::"r"(address), "r"(pack<Carried>(first, second))
                     : "memory");
      }
    }
  }
}

/// Loads a row statistic of the warp's 16 rows from HBM; `beyond` for rows at or after `N`.
__device__ inline void load_statistic(RowStatistic<1>& out, const float* head, int first_row, int N,
                                      float beyond, int lane) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = first_row + half * 8 + lane / 4;
    out[half] = row < N ? __ldcg(head + row) : beyond;
  }
}

/// The reverse; the first lane of each quad writes.
__device__ inline void store_statistic(float* head, const RowStatistic<1>& values, int first_row,
                                       int N, int lane) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = first_row + half * 8 + lane / 4;
    if (lane % 4 == 0 && row < N) __stcg(head + row, values[half]);
  }
}

}  // namespace attnscope::kernels::device
