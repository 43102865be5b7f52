/// The softmax of standard attention: P = softmax(mask(S)), row by row, one launch between two
/// cuBLAS products. It follows the launch "softmax" of sim/schedule/standard_forward.cpp.
///
/// The baseline of the other kernels: S and P are whole [B, H, N, N_kv] tensors in HBM. The kernel
/// is as fast as an unfused softmax can be: S is read once and P written once, 16 bytes per thread,
/// and the row stays in registers in between. S already holds softmax_scale Q K^T (the scale is the
/// product's alpha), so that fp16 overflows only if the scaled scores do.
///
/// Under a mask, all of S is still read and all of P written, since the product that follows reads
/// the zeros. With dropout, P is written both before and after dropout: the softmax's gradient
/// reads the former, the product the latter. A warp owns a row of N_kv <= 1024 keys, four rows to a
/// block; a block owns a longer row. Rows of more than 32,768 keys (16,384 if N_kv leaves them
/// unaligned to 16 bytes, and in fp32 with a score function) do not fit in the registers of a
/// block: softmax_forward_two_sweeps.cuh.
#pragma once

#include "kernels/device/online_softmax.cuh"
#include "kernels/standard/row_launch.cuh"
#include "kernels/standard/row_scores.cuh"
#include "kernels/standard/softmax_parameters.cuh"

namespace attnscope::kernels {

/// The blocks that an SM must have registers for; 0: the compiler decides. Left to itself, it uses
/// so many registers for aligned 16-bit rows of 2,049 to 4,096 keys without score features that
/// only five fit on sm_90; six hide more of HBM's latency.
constexpr int softmax_min_blocks(int threads, int elements, int width, ScoreFeatures features) {
  const bool is_aligned_16_bit = width == 8;
  return threads == 256 && elements == 16 && is_aligned_16_bit && !features.any() ? 6 : 0;
}

/// kThreads threads hold a row in registers, kElements each, in pieces of kWidth.
template <typename T, int kThreads, int kElements, int kWidth, ScoreFeatures kFeatures>
__global__ void __launch_bounds__(kThreads == 32 ? 128 : kThreads,
                                  softmax_min_blocks(kThreads, kElements, kWidth, kFeatures))
    softmax_forward(const SoftmaxParameters parameters) {
  using namespace device;
  constexpr int kPieces = kElements / kWidth;
  const ForwardShape& shape = parameters.shape;
  const Index row = row_of_thread(kThreads);
  const RowScores<kFeatures> scores(parameters, row);
  if (row >= parameters.rows) return;
  const int first = static_cast<int>(threadIdx.x) % kThreads * kWidth;
  const T* const S = static_cast<const T*>(parameters.S) + row * shape.N_kv;
  T* const P = static_cast<T*>(parameters.P) + row * shape.N_kv;

  // load S; soft cap, ALiBi, mask @load @soft_cap @alibi @mask
  float values[kPieces][kWidth];
#pragma unroll
  for (int piece = 0; piece < kPieces; ++piece) {
    const int column = first + piece * kThreads * kWidth;
    if (column < shape.N_kv) load_elements<T, kWidth>(values[piece], S + column);
#pragma unroll
    for (int e = 0; e < kWidth; ++e) {
      scores.template shape_score<T>(values[piece][e], column + e);
    }
  }

  // m = rowmax(S); P = exp(S - m); l = rowsum(P) @update_max
  float m = kMinusInfinity;
#pragma unroll
  for (int piece = 0; piece < kPieces; ++piece) {
#pragma unroll
    for (int e = 0; e < kWidth; ++e) m = fmaxf(m, values[piece][e]);
  }
  m = reduce_row<kThreads>(m, Max{});
  const float m_log2 = finite_log2(m, kLog2e);
  float l = 0.0f;
#pragma unroll
  for (int piece = 0; piece < kPieces; ++piece) {
#pragma unroll
    for (int e = 0; e < kWidth; ++e) {
      values[piece][e] = exp2_fast(fmaf(values[piece][e], kLog2e, -m_log2));  // @exponentiate
      l += values[piece][e];                                                  // @update_sum
    }
  }
  l = reduce_row<kThreads>(l, Sum{});

  // P = P / l; write P, LSE; a row without keys has P = 0 @normalize
  const float inverse_l = l == 0.0f ? 0.0f : 1.0f / l;
#pragma unroll
  for (int piece = 0; piece < kPieces; ++piece) {
    const int column = first + piece * kThreads * kWidth;
    if (column >= shape.N_kv) continue;
#pragma unroll
    for (int e = 0; e < kWidth; ++e) values[piece][e] *= inverse_l;
    store_elements<T, kWidth>(P + column, values[piece]);                      // @store
    scores.template store_dropped<T>(parameters, row, column, values[piece]);  // @dropout
  }
  // @log_sum_exp
  if (parameters.LSE != nullptr && first == 0) parameters.LSE[row] = log_sum_exp(m, l, 1.0f);
}

}  // namespace attnscope::kernels
