/// The running softmax of a warp's rows: m, l and alpha (FlashAttention-2, Algorithm 1, lines
/// 8-10).
///
/// S holds Q K^T before scaling; the scale is applied in the exponent, with one multiply-add per
/// score:
///   exp(softmax_scale * (S - m)) = exp2(S * softmax_scale_log2 - m * softmax_scale_log2)
/// with softmax_scale_log2 = softmax_scale * log2(e). m is the maximum of the unscaled scores.
#pragma once

#include "kernels/device/tile_products.cuh"

namespace attnscope::kernels::device {

/// 2^x, within 2 units in the last place; 2^-inf = 0.
__device__ inline float exp2_fast(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;\n" : "=f"(result) : "f"(x));
  return result;
}

/// 2^x computed with multiply-adds, within 7.5e-5, for finite x <= 0: 2^n times a polynomial in x -
/// n, where n is the nearest integer. For x below -126, returns the result for -126.
__device__ inline float exp2_polynomial(float x) {
  constexpr float kShift = 12582912.0f;  // 1.5 * 2^23: n in the low bits of x + kShift
  x = fmaxf(x, -126.0f);
  const float shifted = __fadd_rn(x, kShift);
  const float f = __fsub_rn(x, __fsub_rn(shifted, kShift));
  const float p =
      fmaf(fmaf(fmaf(0.0551716685f, f, 0.242611125f), f, 0.693260968f), f, 0.999928057f);
  return __int_as_float(__float_as_int(p) + (__float_as_int(shifted) << 23));
}

inline constexpr float kMinusInfinity = __builtin_bit_cast(float, 0xff800000u);

/// m in the exponent's unit. In a row without keys, m and every S are -inf; any finite value here
/// makes its P zero.
__device__ inline float finite_log2(float m, float softmax_scale_log2) {
  return m == kMinusInfinity ? 0.0f : __fmul_rn(m, softmax_scale_log2);
}

/// alpha = exp(m_prev - m), computed from the same rounded products as P, so that a large m adds no
/// error; 1 for a row without keys.
__device__ inline float rescaling_factor(float m_prev, float m, float softmax_scale_log2) {
  if (m_prev == m) return 1.0f;
  return exp2_fast(
      __fsub_rn(__fmul_rn(m_prev, softmax_scale_log2), __fmul_rn(m, softmax_scale_log2)));
}

/// Statistics of the 2 * kRowPieces rows that a thread shares with its quad: row 2r + half is row
/// 16 r + 8 half + lane / 4 of the warp.
template <int kRowPieces>
using RowStatistic = float[2 * kRowPieces];

__device__ inline float quad_max(float value) {
  value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, 1));
  return fmaxf(value, __shfl_xor_sync(0xffffffffu, value, 2));
}

__device__ inline float quad_sum(float value) {
  value += __shfl_xor_sync(0xffffffffu, value, 1);
  return value + __shfl_xor_sync(0xffffffffu, value, 2);
}

/// S = -inf where the key is at or after the end of the keys that the row sees. `first_row_end` is
/// keys_end of the warp's first row, relative to the column tile, before it is clipped; each
/// further row sees one more key, up to `tile_end` (the number of keys in this tile).
template <int kRowPieces, int Bc>
__device__ inline void mask_scores(Accumulator<kRowPieces, Bc>& S, int first_row_end, int tile_end,
                                   int lane) {
#pragma unroll
  for (int row = 0; row < 2 * kRowPieces; ++row) {
    const int end = min(first_row_end + row * 8 + lane / 4, tile_end);
#pragma unroll
    for (int n = 0; n < Bc / 8; ++n) {
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        float& s = S[row / 2][n][row % 2 * 2 + c];
        if (n * 8 + lane % 4 * 2 + c >= end) s = kMinusInfinity;
      }
    }
  }
}

/// m = max(m, rowmax(S)); alpha = exp(m_prev - m). A row that has seen no key keeps m = -inf.
/// Returns whether the maximum of any of the warp's rows has changed; if none has, alpha is 1 in
/// all rows.
template <int kRowPieces, int Bc>
__device__ inline bool update_max(RowStatistic<kRowPieces>& m, RowStatistic<kRowPieces>& alpha,
                                  const Accumulator<kRowPieces, Bc>& S, float softmax_scale_log2) {
  bool moved = false;
#pragma unroll
  for (int row = 0; row < 2 * kRowPieces; ++row) {
    const float m_prev = m[row];
    float tile_max = kMinusInfinity;
#pragma unroll
    for (int n = 0; n < Bc / 8; ++n) {
      tile_max = fmaxf(tile_max, S[row / 2][n][row % 2 * 2]);
      tile_max = fmaxf(tile_max, S[row / 2][n][row % 2 * 2 + 1]);
    }
    m[row] = fmaxf(m_prev, quad_max(tile_max));
    alpha[row] = rescaling_factor(m_prev, m[row], softmax_scale_log2);
    moved |= m_prev != m[row];
  }
  return __any_sync(0xffffffffu, moved);
}

/// P = exp(S - m) in place of S; adds the thread's part of rowsum(P) to l. If `kPolynomialEvery` is
/// not 0, one in that many pieces of eight keys uses exp2_polynomial().
template <int kRowPieces, int Bc, int kPolynomialEvery = 0>
__device__ inline void exponentiate(Accumulator<kRowPieces, Bc>& S, RowStatistic<kRowPieces>& l,
                                    const RowStatistic<kRowPieces>& m, float softmax_scale_log2) {
#pragma unroll
  for (int row = 0; row < 2 * kRowPieces; ++row) {
    const float m_log2 = finite_log2(m[row], softmax_scale_log2);
#pragma unroll
    for (int n = 0; n < Bc / 8; ++n) {
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        float& s = S[row / 2][n][row % 2 * 2 + c];
        const float exponent = fmaf(s, softmax_scale_log2, -m_log2);
        const bool polynomial =
            kPolynomialEvery != 0 && n % (kPolynomialEvery != 0 ? kPolynomialEvery : 1) == 0;
        s = polynomial ? exp2_polynomial(exponent) : exp2_fast(exponent);
        l[row] += s;
      }
    }
  }
}

/// O = diag(factor) O.
template <int kRowPieces, int d>
__device__ inline void rescale(Accumulator<kRowPieces, d>& O,
                               const RowStatistic<kRowPieces>& factor) {
#pragma unroll
  for (int r = 0; r < kRowPieces; ++r) {
#pragma unroll
    for (int n = 0; n < d / 8; ++n) {
#pragma unroll
      for (int c = 0; c < 4; ++c) O[r][n][c] *= factor[2 * r + c / 2];
    }
  }
}

/// m + log(l) in natural units; -inf for a row that has seen no key.
__device__ inline float log_sum_exp(float m, float l, float softmax_scale) {
  return l == 0.0f ? kMinusInfinity : m * softmax_scale + logf(l);
}

}  // namespace attnscope::kernels::device
