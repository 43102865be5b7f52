/// P V of flash1, with P rounded before O is loaded: 16 rows of a wide column tile in fp32 and of O
/// do not both fit in the registers.
#pragma once

#include "kernels/device/tile_products.cuh"

namespace attnscope::kernels::device {

/// P of 16 rows, rounded to T, as operand A of P V: takes half as many registers as in fp32.
template <int Bc>
using RoundedScores = FragmentA[Bc / 16];

/// Rounds P before any later code runs, so that the fp32 values no longer occupy registers.
template <typename T, int Bc>
__device__ inline void round_scores(RoundedScores<Bc>& rounded, const Accumulator<1, Bc>& P) {
#pragma unroll
  for (int k = 0; k < Bc / 16; ++k) {
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      const FragmentC& half = P[0][2 * k + c / 2];
      rounded[k][c] = pack<T>(half[c % 2 * 2], half[c % 2 * 2 + 1]);
      keep_in_place(rounded[k][c]);
    }
  }
}

/// O += P V for 16 rows of rounded P. `V_lane` is lane_address_rows of Vj.
template <typename T, int Bc, int d>
__device__ inline void accumulate_output(Accumulator<1, d>& O, const RoundedScores<Bc>& P,
                                         uint32_t V_lane) {
  using Tile = SharedTile<16, d>;
  keep_in_place(V_lane);
#pragma unroll
  for (int k = 0; k < Bc / 16; ++k) {
#pragma unroll
    for (int n = 0; n < d / 16; ++n) {
      uint32_t V[4];
      load_matrix_transposed(V, Tile::piece(V_lane, k, n));
      multiply_add<T>(O[0][2 * n], P[k], V[0], V[1], O[0][2 * n]);
      multiply_add<T>(O[0][2 * n + 1], P[k], V[2], V[3], O[0][2 * n + 1]);
    }
  }
}

}  // namespace attnscope::kernels::device
