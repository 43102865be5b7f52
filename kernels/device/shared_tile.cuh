/// A [kRows x d] tile of 16-bit elements in shared memory, swizzled so that neither the copies into
/// it nor reads of eight rows at a time have bank conflicts: 16-byte chunk c of row r is at
/// position c ^ f(r), where f takes eight different values over any eight rows that share a line of
/// banks. A row of fp32 elements is treated as one of twice as many 16-bit elements. If the number
/// of chunks in a row is not a power of two (d = 96, 192), chunks are permuted within groups of
/// four or eight.
///
/// (Padded rows would avoid the conflicts too, but cp.async fetches a 32-byte sector twice when its
/// halves go to different 32-byte pieces of shared memory. That happens when a row is an odd number
/// of chunks long, and costs 1.5 times the bytes at the SM port.)
#pragma once

#include "kernels/device/async_copy.cuh"
#include "reference/tiling.h"

namespace attnscope::kernels::device {

template <int kRows, int d>
struct SharedTile {
  static constexpr int kChunks = d / 8;  ///< 16-byte chunks of a row
  static constexpr int kRowBytes = d * 2;
  static constexpr int kBytes = kRows * kRowBytes;
  static constexpr int kGroup = kChunks & -kChunks;  ///< largest power of two that divides a row
  static constexpr int kSpread = kGroup < 8 ? kGroup : 8;  ///< positions that a chunk can take
  static constexpr int kRowsPerLine = 8 / kSpread;         ///< neighbours whose chunks have the
                                                           ///< same positions
  static constexpr bool kWholeRows = kGroup == kChunks;    ///< a row is a power of two of chunks

  uint32_t address;  ///< aligned to 256 bytes

  __device__ static constexpr int swizzle(int row) {
    return knob::kSwizzle ? (row / kRowsPerLine) % kSpread : 0;
  }

  __device__ uint32_t chunk_address(int row, int chunk) const {
    return address + row * kRowBytes + ((chunk ^ swizzle(row)) << 4);
  }

  /// The address that this lane passes to ldmatrix to read the 16 x 16 piece at row 0, column 0 as
  /// operand A (also: transposed, as operand B of P V). See `piece`.
  __device__ uint32_t lane_address_rows(int lane) const {
    return chunk_address(lane % 16, lane / 16);
  }

  /// The same for operand B of Q K^T: rows of the tile are columns of B.
  __device__ uint32_t lane_address_columns(int lane) const {
    return chunk_address(lane % 8 + lane / 16 * 8, lane / 8 % 2);
  }

  /// The lane's address of the piece at row 16 * row_piece, column 16 * column_piece: the swizzle
  /// repeats every 16 rows, and chunks of a group differ in address bits that only the swizzle
  /// uses.
  __device__ static uint32_t piece(uint32_t lane_address, int row_piece, int column_piece) {
    if constexpr (kWholeRows) {
      return (lane_address ^ (column_piece << 5)) + row_piece * 16 * kRowBytes;
    } else {
      constexpr int kGroupPieces = kSpread / 2;
      return (lane_address ^ (column_piece % kGroupPieces << 5)) +
             column_piece / kGroupPieces * kSpread * 16 + row_piece * 16 * kRowBytes;
    }
  }
};

/// How many of a tile's columns exist in memory: all d, or the first ones, whose number is passed
/// to the kernel, in 16-byte chunks or as single elements; the rest is padding, zero on chip. Code
/// for single elements makes a loop exceed the instruction cache even if that code never runs.
enum class Columns { all, chunks, first };

/// The unroll factor of the loops over the rows of a copy. Wide rows in chunks leave too few
/// registers for a larger one.
constexpr int unrolled_steps(Columns columns, int d) {
  const bool few_registers = columns == Columns::chunks && d > 128;
  return few_registers ? 1 : 32;
}

/// 16 bytes of a row in memory that may begin at any address: `columns` elements, then zeros.
template <typename T>
__device__ inline void gather_chunk(uint32_t (&out)[4], const T* source, int columns) {
  constexpr int kElements = 16 / static_cast<int>(sizeof(T));
  constexpr int kPerWord = 4 / static_cast<int>(sizeof(T));
#pragma unroll
  for (int n = 0; n < kElements / kPerWord; ++n) {
    if constexpr (kPerWord == 1) {
      out[n] = n < columns ? reinterpret_cast<const unsigned*>(source)[n] : 0;
    } else {
      const auto* const bits = reinterpret_cast<const unsigned short*>(source) + n * kPerWord;
      const unsigned low = n * kPerWord < columns ? bits[0] : 0;
      const unsigned high = n * kPerWord + 1 < columns ? bits[1] : 0;
      out[n] = low | high << 16;
    }
  }
}

/// The reverse of gather_chunk.
template <typename T>
__device__ inline void scatter_chunk(T* destination, const uint32_t (&words)[4], int columns) {
  static_assert(sizeof(T) == 2);
  auto* const bits = reinterpret_cast<unsigned short*>(destination);
#pragma unroll
  for (int n = 0; n < 4; ++n) {
    if (2 * n < columns) __stcg(bits + 2 * n, static_cast<unsigned short>(words[n]));
    if (2 * n + 1 < columns) __stcg(bits + 2 * n + 1, static_cast<unsigned short>(words[n] >> 16));
  }
}

/// Writes one 16-byte chunk.
__device__ inline void store_chunk_shared(uint32_t address, const uint32_t (&words)[4]) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};\n" ::"r"(address), "r"(words[0]),
               "r"(words[1]), "r"(words[2]), "r"(words[3])
               : "memory");
}

/// Copies a tile element by element, from rows that are not made of whole chunks; complete when it
/// returns.
template <int kThreads, int kRows, int d, typename T>
__device__ inline void load_tile_of_elements(const SharedTile<kRows, d>& tile, const T* source,
                                             Index stride_row, int valid_rows, int thread,
                                             int columns) {
  constexpr int kChunks = SharedTile<kRows, d>::kChunks;
  constexpr int kChunkElements = 16 / static_cast<int>(sizeof(T));
#pragma unroll 1
  for (int n = thread; n < kRows * kChunks; n += kThreads) {
    const int row = n / kChunks;
    const int column = n % kChunks * kChunkElements;
    uint32_t words[4];
    gather_chunk(words, source + row * stride_row + column,
                 row < valid_rows ? columns - column : 0);
    store_chunk_shared(tile.chunk_address(row, n % kChunks), words);
  }
}

/// Starts the copy of a tile: rows [0, valid_rows) of `source`, whose rows are `stride_row`
/// elements apart; zeros in the rows below, and in columns from `columns` on, which are not read.
/// Each of `kThreads` threads copies the same chunks at every call with the same tile shape.
template <int kThreads, Columns kColumns = Columns::all, int kRows, int d, typename T>
__device__ inline void load_tile_async(const SharedTile<kRows, d>& tile, const T* source,
                                       Index stride_row, int valid_rows, int thread,
                                       int columns = d) {
  using Tile = SharedTile<kRows, d>;
  constexpr int kStepRows = kThreads / Tile::kGroup;
  constexpr int kChunkElements = 16 / static_cast<int>(sizeof(T));
  constexpr bool kWholeSteps = kRows % kStepRows == 0;
  constexpr int kUnrolled = unrolled_steps(kColumns, d);
  static_assert(kThreads % Tile::kGroup == 0);
  if constexpr (kColumns == Columns::first) {
    if (columns % kChunkElements != 0) {
      load_tile_of_elements<kThreads>(tile, source, stride_row, valid_rows, thread, columns);
      return;
    }
  }
  const int first_chunk = thread % Tile::kGroup;
  const T* row_source = source + thread / Tile::kGroup * stride_row + first_chunk * kChunkElements;
#pragma unroll kUnrolled
  for (int step = 0; step < (kRows + kStepRows - 1) / kStepRows; ++step) {
    const int row = thread / Tile::kGroup + step * kStepRows;
    if (!kWholeSteps && row >= kRows) break;
#pragma unroll
    for (int chunk = 0; chunk < Tile::kChunks; chunk += Tile::kGroup) {
      const bool exists =
          kColumns == Columns::all || (first_chunk + chunk) * kChunkElements < columns;
      copy_async_16(tile.chunk_address(row, first_chunk + chunk),
                    row_source + chunk * kChunkElements, row < valid_rows && exists);
    }
    row_source += kStepRows * stride_row;
  }
}

/// Reads one 16-byte chunk: four pairs of elements.
__device__ inline void load_chunk_shared(uint32_t (&out)[4], uint32_t address) {
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];\n"
               : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
               : "r"(address)
               : "memory");
}

/// Stores rows [0, valid_rows), columns [0, columns) of a tile, 16 bytes per thread, in the same
/// chunks as load_tile_async. The stores bypass L1, like all stores of the kernels: under load,
/// stores that lingered in L1 were observed to leave it in half sectors, which cost 1.5 times the
/// bytes.
template <int kThreads, Columns kColumns = Columns::all, int kRows, int d, typename T>
__device__ inline void store_tile(T* destination, Index stride_row,
                                  const SharedTile<kRows, d>& tile, int valid_rows, int thread,
                                  int columns = d) {
  using Tile = SharedTile<kRows, d>;
  constexpr int kChunkElements = 16 / static_cast<int>(sizeof(T));
  constexpr int kStepRows = kThreads / Tile::kGroup;
  constexpr bool kWholeSteps = kRows % kStepRows == 0;
  constexpr int kUnrolled = unrolled_steps(kColumns, d);
  static_assert(kThreads % Tile::kGroup == 0);
#pragma unroll kUnrolled
  for (int step = 0; step < (kRows + kStepRows - 1) / kStepRows; ++step) {
    const int row = thread / Tile::kGroup + step * kStepRows;
    if (!kWholeSteps && row >= kRows) break;
#pragma unroll
    for (int first_chunk = 0; first_chunk < Tile::kChunks; first_chunk += Tile::kGroup) {
      const int chunk = first_chunk + thread % Tile::kGroup;
      const int left = columns - chunk * kChunkElements;  // columns from this chunk on
      uint32_t value[4];
      load_chunk_shared(value, tile.chunk_address(row, chunk));
      if (row >= valid_rows || (kColumns != Columns::all && left <= 0)) continue;
      T* const place = destination + row * stride_row + chunk * kChunkElements;
      if constexpr (kColumns == Columns::first) {
        if (columns % kChunkElements != 0) {
          scatter_chunk(place, value, left);
          continue;
        }
      }
      __stcg(reinterpret_cast<uint4*>(place), uint4{value[0], value[1], value[2], value[3]});
    }
  }
}

}  // namespace attnscope::kernels::device
