/// A [kRows x d] tile of 16-bit elements in shared memory, swizzled so that neither the copies into
/// it nor reads of eight rows at a time meet a bank conflict: the 16-byte chunk c of row r stands
/// at place c ^ f(r), where f takes eight different values over any eight rows that share a line of
/// banks. A row of fp32 is as long as one of twice as many 16-bit elements.
///
/// (Padded rows would do for the banks. But cp.async fetches a 32-byte sector twice when its halves
/// land in different 32-byte pieces of shared memory, as they do where a row is an odd number of
/// chunks long: half as many bytes again at the SM port.)
#pragma once

#include <cstdint>

#include "kernels/device/async_copy.cuh"
#include "reference/attention_problem.h"

namespace attnscope::kernels::device {

template <int kRows, int d>
struct SharedTile {
  static constexpr int kChunks = d / 8;  ///< 16-byte chunks of a row
  static constexpr int kRowBytes = d * 2;
  static constexpr int kBytes = kRows * kRowBytes;
  static constexpr int kSpread = kChunks < 8 ? kChunks : 8;  ///< places that a chunk can take
  static constexpr int kRowsPerLine = 8 / kSpread;           ///< rows in 128 bytes

  std::uint32_t address;  ///< aligned to 256 bytes

  __device__ static constexpr int swizzle(int row) { return (row / kRowsPerLine) % kSpread; }

  __device__ std::uint32_t chunk_address(int row, int chunk) const {
    return address + row * kRowBytes + ((chunk ^ swizzle(row)) << 4);
  }

  /// What this lane passes to ldmatrix to read the 16 x 16 piece at row 0, column 0 as operand A
  /// (also: transposed, as operand B of P V). See `piece`.
  __device__ std::uint32_t lane_address_rows(int lane) const {
    return chunk_address(lane % 16, lane / 16);
  }

  /// The same as operand B of Q K^T: rows of the tile are columns of B.
  __device__ std::uint32_t lane_address_columns(int lane) const {
    return chunk_address(lane % 8 + lane / 16 * 8, lane / 8 % 2);
  }

  /// The lane's address of the piece at row 16 * row_piece, column 16 * column_piece: the swizzle
  /// repeats every 16 rows, and chunks differ in address bits that only the swizzle uses.
  __device__ static std::uint32_t piece(std::uint32_t lane_address, int row_piece,
                                        int column_piece) {
    return (lane_address ^ (column_piece << 5)) + row_piece * 16 * kRowBytes;
  }
};

/// Starts the copy of a tile: rows [0, valid_rows) of `source`, whose rows stand `stride_row`
/// elements apart; zeros in the rows below, which are not read. Each of `kThreads` threads copies
/// the same chunks at every call with the same tile shape.
template <int kThreads, int kRows, int d, typename T>
__device__ inline void load_tile_async(const SharedTile<kRows, d>& tile, const T* source,
                                       Index stride_row, int valid_rows, int thread) {
  constexpr int kChunks = SharedTile<kRows, d>::kChunks;
  constexpr int kStepRows = kThreads / kChunks;
  static_assert(kThreads % kChunks == 0 && kRows % kStepRows == 0);
  const int chunk = thread % kChunks;
  constexpr int kChunkElements = 16 / static_cast<int>(sizeof(T));
  const T* chunk_source = source + thread / kChunks * stride_row + chunk * kChunkElements;
#pragma unroll
  for (int step = 0; step < kRows / kStepRows; ++step) {
    const int row = thread / kChunks + step * kStepRows;
    copy_async_16(tile.chunk_address(row, chunk), chunk_source, row < valid_rows);
    chunk_source += kStepRows * stride_row;
  }
}

/// Reads one 16-byte chunk: four pairs of elements.
__device__ inline void load_chunk_shared(std::uint32_t (&out)[4], std::uint32_t address) {
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];\n"
               : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
               : "r"(address)
               : "memory");
}

/// Stores rows [0, valid_rows) of a tile, 16 bytes a thread, in the same chunks as load_tile_async.
/// Past L1, as all stores of the kernels: stores that linger there were seen to leave in half
/// sectors under load, which cost half as many bytes again.
template <int kThreads, int kRows, int d, typename T>
__device__ inline void store_tile(T* destination, Index stride_row,
                                  const SharedTile<kRows, d>& tile, int valid_rows, int thread) {
  constexpr int kChunks = SharedTile<kRows, d>::kChunks;
  constexpr int kChunkElements = 16 / static_cast<int>(sizeof(T));
  constexpr int kStepRows = kThreads / kChunks;
  static_assert(kThreads % kChunks == 0 && kRows % kStepRows == 0);
  const int chunk = thread % kChunks;
#pragma unroll
  for (int step = 0; step < kRows / kStepRows; ++step) {
    const int row = thread / kChunks + step * kStepRows;
    std::uint32_t value[4];
    load_chunk_shared(value, tile.chunk_address(row, chunk));
    if (row < valid_rows) {
      __stcg(reinterpret_cast<uint4*>(destination + row * stride_row + chunk * kChunkElements),
             uint4{value[0], value[1], value[2], value[3]});
    }
  }
}

}  // namespace attnscope::kernels::device
