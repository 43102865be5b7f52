/// The backward pass of one tile of scores, for one warp, on the tensor cores. The tile is
/// transposed: a warp owns 16 kKeyPieces keys of S^T = K Q^T and some of the row tile's queries.
/// P^T and dS^T then pass through shared memory, where each warp reads the operands of its part of
/// dVj, dKj and dQi.
///
/// Here the columns are queries: their statistics are read from shared memory, two neighbours at a
/// time.
#pragma once

#include "kernels/device/online_softmax.cuh"

namespace attnscope::kernels::device {

/// A warp's piece of S^T, P^T, dP^T or dS^T.
template <int kKeyPieces, int kQueries>
using TransposedScores = Accumulator<kKeyPieces, kQueries>;

/// S^T = -inf where the query does not see the key. `first_query` is the first query that sees the
/// warp's first key, counted from the warp's first query; it increases by one with each further
/// key. Keys at or after `keys` (counted from the warp's first) do not exist.
template <int kKeyPieces, int kQueries>
__device__ inline void mask_scores_transposed(TransposedScores<kKeyPieces, kQueries>& S,
                                              int first_query, int keys, int lane) {
#pragma unroll
  for (int row = 0; row < 2 * kKeyPieces; ++row) {
    const int key = row * 8 + lane / 4;
    const int begin = key < keys ? first_query + key : kQueries;
#pragma unroll
    for (int n = 0; n < kQueries / 8; ++n) {
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        if (n * 8 + lane % 4 * 2 + c < begin) S[row / 2][n][row % 2 * 2 + c] = kMinusInfinity;
      }
    }
  }
}

/// P = exp(S - LSE) in place of S. `LSE_log2` holds LSE log2(e) of the warp's queries.
template <int kKeyPieces, int kQueries>
__device__ inline void exponentiate_transposed(TransposedScores<kKeyPieces, kQueries>& S,
                                               const float* LSE_log2, float softmax_scale_log2,
                                               int lane) {
#pragma unroll
  for (int n = 0; n < kQueries / 8; ++n) {
    const float2 LSE = *reinterpret_cast<const float2*>(LSE_log2 + n * 8 + lane % 4 * 2);
#pragma unroll
    for (int r = 0; r < kKeyPieces; ++r) {
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        float& s = S[r][n][c];
        s = exp2_fast(fmaf(s, softmax_scale_log2, c % 2 == 0 ? -LSE.x : -LSE.y));
      }
    }
  }
}

/// P * (dP - D).
struct SoftmaxGradient {
  __device__ float operator()(float P, float dP, float D) const { return P * (dP - D); }
};

/// dS = P * (dP - D) in place of dP, or the result of `gradient` for the three. `D` holds rowsum(dO
/// * O) of the warp's queries.
template <int kKeyPieces, int kQueries, typename Gradient = SoftmaxGradient>
__device__ inline void softmax_gradient_transposed(TransposedScores<kKeyPieces, kQueries>& dP,
                                                   const TransposedScores<kKeyPieces, kQueries>& P,
                                                   const float* D, int lane,
                                                   const Gradient& gradient = {}) {
#pragma unroll
  for (int n = 0; n < kQueries / 8; ++n) {
    const float2 Di = *reinterpret_cast<const float2*>(D + n * 8 + lane % 4 * 2);
#pragma unroll
    for (int r = 0; r < kKeyPieces; ++r) {
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        dP[r][n][c] = gradient(P[r][n][c], dP[r][n][c], c % 2 == 0 ? Di.x : Di.y);
      }
    }
  }
}

struct Unchanged {
  __device__ float operator()(float value) const { return value; }
};

/// The address at which a lane stores its pair of elements of a row, for each chunk of eight
/// columns from `first_column` on.
template <typename Tile>
struct PartRow {
  const Tile& tile;
  int row, first_chunk, lane;
  uint32_t first;

  __device__ PartRow(const Tile& tile_, int first_row, int first_column, int lane_)
      : tile(tile_), row(first_row + lane_ / 4), first_chunk(first_column / 8), lane(lane_) {
    first = tile.chunk_address(row, first_chunk) + lane % 4 * 4;
    keep_in_place(first);
  }
  __device__ uint32_t chunk(int n) const {
    return Tile::kWholeRows ? first ^ (n << 4)
                            : tile.chunk_address(row, first_chunk + n) + lane % 4 * 4;
  }
};

/// Writes a warp's accumulator, or the results of `change` for its elements, rounded to T, into the
/// part of a shared tile that begins at the given row and column, which are multiples of 16 (the
/// column also of kColumns where the row length is a power of two).
template <typename T, int kRowPieces, int kColumns, typename Tile, typename Change = Unchanged>
__device__ inline void write_part(const Tile& tile, int first_row, int first_column,
                                  const Accumulator<kRowPieces, kColumns>& C, int lane,
                                  const Change& change = {}) {
#pragma unroll
  for (int row = 0; row < 2 * kRowPieces; ++row) {
    const PartRow<Tile> place(tile, first_row + row * 8, first_column, lane);
#pragma unroll
    for (int n = 0; n < kColumns / 8; ++n) {
      const FragmentC& c = C[row / 2][n];
      asm volatile("st.shared.u32 [%0], %1;\n" ::"r"(place.chunk(n)),
                   "r"(pack<T>(change(c[row % 2 * 2]), change(c[row % 2 * 2 + 1])))
                   : "memory");
    }
  }
}

/// Multiplies C by the values that the same lanes have written with write_part().
template <typename T, int kRowPieces, int kColumns, typename Tile>
__device__ inline void multiply_part(Accumulator<kRowPieces, kColumns>& C, const Tile& tile,
                                     int first_row, int first_column, int lane) {
#pragma unroll
  for (int row = 0; row < 2 * kRowPieces; ++row) {
    const PartRow<Tile> place(tile, first_row + row * 8, first_column, lane);
#pragma unroll
    for (int n = 0; n < kColumns / 8; ++n) {
      uint32_t pair;
      asm volatile("ld.shared.u32 %0, [%1];\n" : "=r"(pair) : "r"(place.chunk(n)) : "memory");
      const float2 factors = unpack<T>(pair);
      C[row / 2][n][row % 2 * 2] *= factors.x;
      C[row / 2][n][row % 2 * 2 + 1] *= factors.y;
    }
  }
}

/// How the operand A of `accumulate_part` is stored in shared memory.
enum class StoredA { as_is, transposed };

/// C += A B for the warp's [16 kRowPieces x kColumns] part, summed over kInner. A comes from a tile
/// with kTileColumns columns. `A_lane` is the lane's address in it: lane_address_rows at the part's
/// first row or, if A is stored transposed, lane_address_columns of the tile, where the part begins
/// at column piece `A_piece`. `B_lane` is lane_address_rows of the [kInner x d] tile B, where the
/// part begins at column piece `B_piece`.
template <typename T, StoredA kStoredA, int kRowPieces, int kColumns, int kInner, int kTileColumns,
          int d>
__device__ inline void accumulate_part(Accumulator<kRowPieces, kColumns>& C, uint32_t A_lane,
                                       int A_piece, uint32_t B_lane, int B_piece) {
  using TileA = SharedTile<16, kTileColumns>;
  using TileB = SharedTile<16, d>;
  // Whether the part's other pieces can be addressed from its first one, as in a whole tile
  constexpr bool kIsPowerOfTwo = (kRowPieces & (kRowPieces - 1)) == 0;
  constexpr bool kFromFirst =
      kRowPieces == 1 ||
      (kIsPowerOfTwo && (TileA::kWholeRows || kRowPieces % (TileA::kSpread / 2) == 0));
  if constexpr (kFromFirst && kStoredA == StoredA::transposed) {
    A_lane = TileA::piece(A_lane, 0, A_piece);
  }
  if constexpr (TileB::kWholeRows) B_lane = TileB::piece(B_lane, 0, B_piece);
  keep_in_place(A_lane);
  keep_in_place(B_lane);
#pragma unroll
  for (int k = 0; k < kInner / 16; ++k) {
    FragmentA A[kRowPieces];
#pragma unroll
    for (int r = 0; r < kRowPieces; ++r) {
      if constexpr (kStoredA == StoredA::as_is) {
        load_matrix(A[r], TileA::piece(A_lane, r, k));
      } else {
        load_matrix_transposed(A[r], TileA::piece(A_lane, k, kFromFirst ? r : A_piece + r));
      }
    }
#pragma unroll
    for (int n = 0; n < kColumns / 16; ++n) {
      uint32_t B[4];
      load_matrix_transposed(B, TileB::piece(B_lane, k, TileB::kWholeRows ? n : B_piece + n));
#pragma unroll
      for (int r = 0; r < kRowPieces; ++r) {
        multiply_add<T>(C[r][2 * n], A[r], B[0], B[1], C[r][2 * n]);
        multiply_add<T>(C[r][2 * n + 1], A[r], B[2], B[3], C[r][2 * n + 1]);
      }
    }
  }
}

/// Adds four neighbouring floats, aligned to 16 bytes, to global memory, each atomically. Before
/// compute capability 9.0 this takes four instructions, and the payload passes through the SM port
/// twice.
__device__ inline void atomic_add_4(float* destination, const FragmentC& value) {
#if __CUDA_ARCH__ >= 900
  asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};\n" ::"l"(destination),
               "f"(value[0]), "f"(value[1]), "f"(value[2]), "f"(value[3])
               : "memory");
#else
#pragma unroll
  for (int c = 0; c < 4; ++c) atomicAdd(destination + c, value[c]);
#endif
}

/// Floats in one [16 x 8] piece of a tensor that is stored in fragment order: four for each of 32
/// lanes.
inline constexpr int kFragmentFloats = 32 * 4;

/// Adds a warp's accumulator to `destination`, atomically. There each [16 x 8] piece is stored in
/// fragment order, so that each instruction covers 512 contiguous bytes (in row order it would
/// touch sixteen rows and take four times as long). The pieces of 16 rows are side by side,
/// kStridePieces or `stride_pieces` of them. Rows at or after `valid_rows` do not exist; nor do
/// columns from `columns` on, unless all columns exist.
template <Columns kExisting, int kStridePieces, int kRowPieces, int kColumns>
__device__ inline void atomic_add_fragments(float* destination,
                                            const Accumulator<kRowPieces, kColumns>& C,
                                            int stride_pieces, int valid_rows, int columns,
                                            int lane) {
  if constexpr (kExisting == Columns::all) stride_pieces = kStridePieces;
  float* const lane_destination = destination + lane * 4;
#pragma unroll
  for (int r = 0; r < kRowPieces; ++r) {
    const int row = r * 16 + lane / 4;
#pragma unroll
    for (int n = 0; n < kColumns / 8; ++n) {
      if (kExisting == Columns::first && n * 8 >= columns) continue;
      float* const place = lane_destination + (r * stride_pieces + n) * kFragmentFloats;
      if (row + 8 < valid_rows) {
        atomic_add_4(place, C[r][n]);
      } else if (row < valid_rows) {
        atomicAdd(place, C[r][n][0]);
        atomicAdd(place + 1, C[r][n][1]);
      }
    }
  }
}

}  // namespace attnscope::kernels::device
