/// What the backward pass does with one tile of scores, for one warp, on the tensor cores. The tile
/// is held transposed: S^T = K Q^T, a warp owning 16 keys and all queries of the row tile. P^T and
/// dS^T then are operands of dV += P^T dO and dK += dS^T Q as they stand in registers; only dS K,
/// which sums over the keys of all warps, needs dS in shared memory.
///
/// Statistics of rows (queries) are columns here: they are read from shared memory, two neighbours
/// at a time.
#pragma once

#include "kernels/device/online_softmax.cuh"

namespace attnscope::kernels::device {

/// A warp's [16 keys x Br queries] piece of S^T, P^T, dP^T or dS^T.
template <int Br>
using TransposedScores = Accumulator<1, Br>;

/// S^T = -inf where the query does not see the key. A key is seen from its first query on; both are
/// counted from the row tile's first query. `first_query` is that of the warp's first key, each
/// further key has one more; keys at or after `keys` (from the warp's first) do not exist.
template <int Br>
__device__ inline void mask_scores_transposed(TransposedScores<Br>& S, int first_query, int keys,
                                              int lane) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int key = half * 8 + lane / 4;
    const int begin = key < keys ? first_query + key : Br;
#pragma unroll
    for (int n = 0; n < Br / 8; ++n) {
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        if (n * 8 + lane % 4 * 2 + c < begin) S[0][n][half * 2 + c] = kMinusInfinity;
      }
    }
  }
}

/// P = exp(S - LSE) in place of S. `LSE_log2` holds LSE log2(e) of the row tile.
template <int Br>
__device__ inline void exponentiate_transposed(TransposedScores<Br>& S, const float* LSE_log2,
                                               float softmax_scale_log2, int lane) {
#pragma unroll
  for (int n = 0; n < Br / 8; ++n) {
    const float2 LSE = *reinterpret_cast<const float2*>(LSE_log2 + n * 8 + lane % 4 * 2);
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      float& s = S[0][n][c];
      s = exp2_fast(fmaf(s, softmax_scale_log2, c % 2 == 0 ? -LSE.x : -LSE.y));
    }
  }
}

/// dS = P * (dP - D) in place of dP. `D` holds rowsum(dO * O) of the row tile.
template <int Br>
__device__ inline void softmax_gradient_transposed(TransposedScores<Br>& dP,
                                                   const TransposedScores<Br>& P, const float* D,
                                                   int lane) {
#pragma unroll
  for (int n = 0; n < Br / 8; ++n) {
    const float2 Di = *reinterpret_cast<const float2*>(D + n * 8 + lane % 4 * 2);
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      dP[0][n][c] = P[0][n][c] * (dP[0][n][c] - (c % 2 == 0 ? Di.x : Di.y));
    }
  }
}

/// C = dS K for the warp's [16 kRowPieces x kColumns] part of the row tile, summed over Bc keys.
/// `dS_lane` is lane_address_columns of the [Bc x Br] tile dS^T at the part's first query, `K_lane`
/// lane_address_rows of Kj at its first column.
template <typename T, int kRowPieces, int kColumns, int Br, int Bc, int d>
__device__ inline void multiply_gradients(Accumulator<kRowPieces, kColumns>& C,
                                          std::uint32_t dS_lane, std::uint32_t K_lane) {
  keep_in_place(dS_lane);
  keep_in_place(K_lane);
#pragma unroll
  for (int r = 0; r < kRowPieces; ++r) {
#pragma unroll
    for (int n = 0; n < kColumns / 8; ++n) C[r][n][0] = C[r][n][1] = C[r][n][2] = C[r][n][3] = 0.0f;
  }
#pragma unroll
  for (int k = 0; k < Bc / 16; ++k) {
    FragmentA dS[kRowPieces];
#pragma unroll
    for (int r = 0; r < kRowPieces; ++r) {
      load_matrix_transposed(dS[r], SharedTile<16, Br>::piece(dS_lane, k, r));
    }
#pragma unroll
    for (int n = 0; n < kColumns / 16; ++n) {
      std::uint32_t K[4];
      load_matrix_transposed(K, SharedTile<16, d>::piece(K_lane, k, n));
#pragma unroll
      for (int r = 0; r < kRowPieces; ++r) {
        multiply_add<T>(C[r][2 * n], dS[r], K[0], K[1], C[r][2 * n]);
        multiply_add<T>(C[r][2 * n + 1], dS[r], K[2], K[3], C[r][2 * n + 1]);
      }
    }
  }
}

/// Adds four neighbouring floats to global memory, 16 bytes aligned, each atomically. Before
/// compute capability 9.0 that takes four instructions, and the SM port sees the payload twice.
__device__ inline void atomic_add_4(float* destination, float4 value) {
#if __CUDA_ARCH__ >= 900
  asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};\n" ::"l"(destination),
               "f"(value.x), "f"(value.y), "f"(value.z), "f"(value.w)
               : "memory");
#else
  atomicAdd(destination, value.x);
  atomicAdd(destination + 1, value.y);
  atomicAdd(destination + 2, value.z);
  atomicAdd(destination + 3, value.w);
#endif
}

/// Adds rows [0, valid_rows) of a warp's accumulator to `destination`, whose rows stand kStrideRow
/// floats apart. Neighbouring lanes first trade halves, so that each holds four floats of one row:
/// a quad then covers 32 whole bytes of two rows.
template <int kRowPieces, int kColumns, int kStrideRow>
__device__ inline void atomic_add_fragments(float* destination,
                                            const Accumulator<kRowPieces, kColumns>& C,
                                            int valid_rows, int lane) {
  const bool odd = lane % 2 == 1;
  const int lane_row = lane / 4 + (odd ? 8 : 0);
  float* const lane_destination = destination + lane_row * kStrideRow + lane % 4 / 2 * 4;
#pragma unroll
  for (int r = 0; r < kRowPieces; ++r) {
    const bool valid = r * 16 + lane_row < valid_rows;
#pragma unroll
    for (int n = 0; n < kColumns / 8; ++n) {
      const FragmentC& c = C[r][n];
      const float x = __shfl_xor_sync(0xffffffffu, odd ? c[0] : c[2], 1);
      const float y = __shfl_xor_sync(0xffffffffu, odd ? c[1] : c[3], 1);
      const float4 value = odd ? float4{x, y, c[2], c[3]} : float4{c[0], c[1], x, y};
      if (valid) atomic_add_4(lane_destination + r * 16 * kStrideRow + n * 8, value);
    }
  }
}

}  // namespace attnscope::kernels::device
