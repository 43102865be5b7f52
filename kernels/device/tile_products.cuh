/// The two matrix products of attention for one warp, on the tensor cores: S = Q K^T and O += P V.
/// A warp owns kRowPieces * 16 rows of the row tile and all columns of the column tile, so that no
/// row of S is shared between warps ("split-Q").
#pragma once

#include "kernels/device/matrix_fragments.cuh"
#include "kernels/device/shared_tile.cuh"

namespace attnscope::kernels::device {

/// A warp's [16 kRowPieces x kColumns] fp32 accumulator (S, O).
template <int kRowPieces, int kColumns>
using Accumulator = FragmentC[kRowPieces][kColumns / 8];

/// Keeps the compiler from computing all addresses that derive from this one before the loop over
/// tiles: each costs one instruction here, but would occupy a register throughout the loop.
__device__ inline void keep_in_place(uint32_t& address) {
  asm volatile("" : "+r"(address));
}

/// S = Q K^T, unscaled. `Q_lane` is lane_address_rows of the warp's rows of Qi; `K_lane` is
/// lane_address_columns of Kj.
template <typename T, int kRowPieces, int Bc, int d>
__device__ inline void multiply_scores(Accumulator<kRowPieces, Bc>& S, uint32_t Q_lane,
                                       uint32_t K_lane) {
  using Tile = SharedTile<16, d>;
  keep_in_place(Q_lane);
  keep_in_place(K_lane);
#pragma unroll
  for (int r = 0; r < kRowPieces; ++r) {
#pragma unroll
    for (int n = 0; n < Bc / 8; ++n) S[r][n][0] = S[r][n][1] = S[r][n][2] = S[r][n][3] = 0.0f;
  }
#pragma unroll
  for (int k = 0; k < d / 16; ++k) {
    FragmentA Q[kRowPieces];
#pragma unroll
    for (int r = 0; r < kRowPieces; ++r) load_matrix(Q[r], Tile::piece(Q_lane, r, k));
#pragma unroll
    for (int n = 0; n < Bc / 16; ++n) {
      uint32_t K[4];
      load_matrix(K, Tile::piece(K_lane, n, k));
#pragma unroll
      for (int r = 0; r < kRowPieces; ++r) {
        FragmentC& left = S[r][2 * n];
        FragmentC& right = S[r][2 * n + 1];
        multiply_add<T>(left, Q[r], K[0], K[1], left);
        multiply_add<T>(right, Q[r], K[2], K[3], right);
      }
    }
  }
}

/// O += P V with P rounded to T. `V_lane` is lane_address_rows of Vj.
template <typename T, int kRowPieces, int Bc, int d>
__device__ inline void accumulate_output(Accumulator<kRowPieces, d>& O,
                                         const Accumulator<kRowPieces, Bc>& P, uint32_t V_lane) {
  using Tile = SharedTile<16, d>;
  keep_in_place(V_lane);
#pragma unroll
  for (int k = 0; k < Bc / 16; ++k) {
    FragmentA A[kRowPieces];
#pragma unroll
    for (int r = 0; r < kRowPieces; ++r) {
      const FragmentC& left = P[r][2 * k];
      const FragmentC& right = P[r][2 * k + 1];
      A[r][0] = pack<T>(left[0], left[1]);
      A[r][1] = pack<T>(left[2], left[3]);
      A[r][2] = pack<T>(right[0], right[1]);
      A[r][3] = pack<T>(right[2], right[3]);
    }
#pragma unroll
    for (int n = 0; n < d / 16; ++n) {
      uint32_t V[4];
      load_matrix_transposed(V, Tile::piece(V_lane, k, n));
#pragma unroll
      for (int r = 0; r < kRowPieces; ++r) {
        multiply_add<T>(O[r][2 * n], A[r], V[0], V[1], O[r][2 * n]);
        multiply_add<T>(O[r][2 * n + 1], A[r], V[2], V[3], O[r][2 * n + 1]);
      }
    }
  }
}

/// Writes a warp's accumulator, rounded to T, into its rows of a shared tile.
template <typename T, int kRowPieces, int d>
__device__ inline void write_fragments(const SharedTile<16 * kRowPieces, d>& tile,
                                       const Accumulator<kRowPieces, d>& O, int lane) {
#pragma unroll
  for (int r = 0; r < kRowPieces; ++r) {
#pragma unroll
    for (int n = 0; n < d / 8; ++n) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = r * 16 + half * 8 + lane / 4;
        asm volatile("st.shared.u32 [%0], %1;\n" ::"r"(tile.chunk_address(row, n) + lane % 4 * 4),
                     "r"(pack<T>(O[r][n][2 * half], O[r][n][2 * half + 1]))
                     : "memory");
      }
    }
  }
}

}  // namespace attnscope::kernels::device
