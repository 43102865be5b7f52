/// softmax_forward for rows that do not fit in a block's registers: a sweep over S for m and l
/// (online), and a second one for P. It follows the launch "softmax" of
/// sim/schedule/standard_forward.cpp in panels.
#pragma once

#include "kernels/device/online_softmax.cuh"
#include "kernels/standard/row_launch.cuh"
#include "kernels/standard/row_scores.cuh"
#include "kernels/standard/softmax_parameters.cuh"

namespace attnscope::kernels {

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

  // First sweep: m and l of this thread's elements, then of the row @load
  float m_thread = kMinusInfinity, l_thread = 0.0f;  // @start
  float values[kWidth];
  for (int column = first; column < shape.N_kv; column += kThreads * kWidth) {
    load_elements<T, kWidth>(values, S + column);
    float m_new = m_thread;
#pragma unroll
    for (int e = 0; e < kWidth; ++e) {
      scores.template shape_score<T>(values[e], column + e);  // @soft_cap @alibi @mask
      m_new = fmaxf(m_new, values[e]);                        // @update_max
    }
    l_thread *= rescaling_factor(m_thread, m_new, kLog2e);  // @update_sum
    m_thread = m_new;
    const float m_log2 = finite_log2(m_new, kLog2e);
    // @exponentiate
#pragma unroll
    for (int e = 0; e < kWidth; ++e) l_thread += exp2_fast(fmaf(values[e], kLog2e, -m_log2));
  }
  const float m = reduce_row<kThreads>(m_thread, Max{});
  const float l = reduce_row<kThreads>(l_thread * rescaling_factor(m_thread, m, kLog2e), Sum{});

  // Second sweep: P @load_again
  const float m_log2 = finite_log2(m, kLog2e);
  const float inverse_l = l == 0.0f ? 0.0f : 1.0f / l;
  for (int column = first; column < shape.N_kv; column += kThreads * kWidth) {
    load_elements<T, kWidth>(values, S + column);
#pragma unroll
    for (int e = 0; e < kWidth; ++e) {
      // @soft_cap_again @alibi_again @mask_again
      scores.template shape_score<T>(values[e], column + e);
      // @exponentiate_again @normalize
      values[e] = exp2_fast(fmaf(values[e], kLog2e, -m_log2)) * inverse_l;
    }
    store_elements<T, kWidth>(P + column, values);                      // @store
    scores.template store_dropped<T>(parameters, row, column, values);  // @dropout
  }
  // @log_sum_exp
  if (parameters.LSE != nullptr && first == 0) parameters.LSE[row] = log_sum_exp(m, l, 1.0f);
}

}  // namespace attnscope::kernels
