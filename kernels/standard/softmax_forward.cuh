/// The softmax of standard attention: P = softmax(mask(S)), row by row, one launch between two
/// cuBLAS products. It follows the launch "softmax" of sim/schedule/standard_forward.cpp.
///
/// The first step of the ladder: S and P are whole [B, H, N, N_kv] tensors in HBM. The kernel is as
/// good as an unfused softmax gets: S is read once and P written once, 16 bytes a thread, the row
/// stays in registers in between. S holds softmax_scale Q K^T already (the product's alpha), so
/// that fp16 scores overflow no earlier than the scaled ones.
///
/// All of S is read and all of P is written under a mask too: the product that follows reads the
/// zeros. With dropout, P and what is left of it are both written: the product reads the latter,
/// the softmax's gradient the former. Rows of N_kv <= 1024 keys are one warp's, four to a block;
/// longer rows are one block's. Rows beyond 32,768 keys (16,384 where N_kv leaves them unaligned to
/// 16 bytes, and in fp32 with a score function) do not fit in the registers of a block, and S is
/// read twice.
#pragma once

#include "kernels/device/online_softmax.cuh"
#include "kernels/standard/row_launch.cuh"
#include "kernels/standard/row_scores.cuh"
#include "kernels/standard/softmax_parameters.cuh"

namespace attnscope::kernels {

inline constexpr float kLog2e = 1.4426950408889634f;

/// P, times what it lacks, where dropout keeps it and zero elsewhere, to P_dropped.
template <typename T, int kWidth, ScoreFeatures kFeatures>
__device__ inline void store_dropped(const SoftmaxParameters& parameters,
                                     const RowScores<kFeatures>& scores, Index row, int column,
                                     float (&P)[kWidth]) {
  if constexpr (!kFeatures.dropout) return;
  const uint32_t kept = scores.template kept<kWidth>(column);
#pragma unroll
  for (int e = 0; e < kWidth; ++e) {
    P[e] = (kept >> e) % 2 == 0 ? 0.0f : P[e] * scores.dropout_scale();
  }
  T* const P_dropped = static_cast<T*>(parameters.P_dropped) + row * parameters.shape.N_kv;
  store_elements<T, kWidth>(P_dropped + column, P);
}

/// kThreads threads hold a row in registers, kElements each, in pieces of kWidth.
template <typename T, int kThreads, int kElements, int kWidth, ScoreFeatures kFeatures>
__global__ void __launch_bounds__(kThreads == 32 ? 128 : kThreads)
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

  // load S; soft cap, ALiBi, mask
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

  // m = rowmax(S); P = exp(S - m); l = rowsum(P)
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
      values[piece][e] = exp2_fast(fmaf(values[piece][e], kLog2e, -m_log2));
      l += values[piece][e];
    }
  }
  l = reduce_row<kThreads>(l, Sum{});

  // P = P / l; write P, LSE; a row without keys has P = 0
  const float inverse_l = l == 0.0f ? 0.0f : 1.0f / l;
#pragma unroll
  for (int piece = 0; piece < kPieces; ++piece) {
    const int column = first + piece * kThreads * kWidth;
    if (column >= shape.N_kv) continue;
#pragma unroll
    for (int e = 0; e < kWidth; ++e) values[piece][e] *= inverse_l;
    store_elements<T, kWidth>(P + column, values[piece]);
    store_dropped<T, kWidth>(parameters, scores, row, column, values[piece]);
  }
  if (parameters.LSE != nullptr && first == 0) parameters.LSE[row] = log_sum_exp(m, l, 1.0f);
}

/// Rows that no block can hold: a sweep for m and l (online), and a second for P.
template <typename T, int kThreads, int kWidth, ScoreFeatures kFeatures>
__global__ void __launch_bounds__(kThreads)
    softmax_forward_two_sweeps(const SoftmaxParameters parameters) {
  using namespace device;
  const ForwardShape& shape = parameters.shape;
  const Index row = row_of_thread(kThreads);
  const RowScores<kFeatures> scores(parameters, row);
  const int first = static_cast<int>(threadIdx.x) * kWidth;
  const T* const S = static_cast<const T*>(parameters.S) + row * shape.N_kv;
  T* const P = static_cast<T*>(parameters.P) + row * shape.N_kv;

  // First sweep: m and l of this thread's elements, then of the row
  float m_thread = kMinusInfinity, l_thread = 0.0f;
  float values[kWidth];
  for (int column = first; column < shape.N_kv; column += kThreads * kWidth) {
    load_elements<T, kWidth>(values, S + column);
    float m_new = m_thread;
#pragma unroll
    for (int e = 0; e < kWidth; ++e) {
      scores.template shape_score<T>(values[e], column + e);
      m_new = fmaxf(m_new, values[e]);
    }
    l_thread *= rescaling_factor(m_thread, m_new, kLog2e);
    m_thread = m_new;
    const float m_log2 = finite_log2(m_new, kLog2e);
#pragma unroll
    for (int e = 0; e < kWidth; ++e) l_thread += exp2_fast(fmaf(values[e], kLog2e, -m_log2));
  }
  const float m = reduce_row<kThreads>(m_thread, Max{});
  const float l = reduce_row<kThreads>(l_thread * rescaling_factor(m_thread, m, kLog2e), Sum{});

  // Second sweep: P
  const float m_log2 = finite_log2(m, kLog2e);
  const float inverse_l = l == 0.0f ? 0.0f : 1.0f / l;
  for (int column = first; column < shape.N_kv; column += kThreads * kWidth) {
    load_elements<T, kWidth>(values, S + column);
#pragma unroll
    for (int e = 0; e < kWidth; ++e) {
      scores.template shape_score<T>(values[e], column + e);
      values[e] = exp2_fast(fmaf(values[e], kLog2e, -m_log2)) * inverse_l;
    }
    store_elements<T, kWidth>(P + column, values);
    store_dropped<T, kWidth>(parameters, scores, row, column, values);
  }
  if (parameters.LSE != nullptr && first == 0) parameters.LSE[row] = log_sum_exp(m, l, 1.0f);
}

}  // namespace attnscope::kernels
