/// softmax_gradient for rows that do not fit in a block's registers: a sweep over P and dP for D,
/// and a second one for dS. It follows the launch "dS" of sim/schedule/standard_backward.cpp in
/// panels.
#pragma once

#include "kernels/standard/row_launch.cuh"
#include "kernels/standard/row_scores.cuh"
#include "kernels/standard/softmax_parameters.cuh"

namespace attnscope::kernels {

template <int kWidth>
__device__ inline void zero_dropped(float (&values)[kWidth], uint32_t kept) {
#pragma unroll
  for (int e = 0; e < kWidth; ++e) {
    if ((kept >> e) % 2 == 0) values[e] = 0.0f;
  }
}

template <typename T, int kThreads, int kWidth, ScoreFeatures kFeatures>
__global__ void __launch_bounds__(kThreads)
    softmax_gradient_two_sweeps(const SoftmaxGradientParameters parameters) {
  const ForwardShape& shape = parameters.shape;
  const Index row = row_of_thread(kThreads);
  const RowScores<kFeatures> scores(parameters, row);
  const int first = static_cast<int>(threadIdx.x) * kWidth;
  const T* const P = static_cast<const T*>(parameters.P) + row * shape.N_kv;
  T* const dP = static_cast<T*>(parameters.dP) + row * shape.N_kv;

  float p[kWidth], gradient[kWidth];
  float D = 0.0f;  // @start
  for (int column = first; column < shape.N_kv; column += kThreads * kWidth) {
    load_elements<T, kWidth>(p, P + column);  // @load
    load_elements<T, kWidth>(gradient, dP + column);
    zero_dropped(gradient, scores.template kept<kWidth>(column));  // @drop_dP
#pragma unroll
    for (int e = 0; e < kWidth; ++e) D = fmaf(p[e], gradient[e], D);  // @row_dot
  }
  D = reduce_row<kThreads>(D, Sum{}) * scores.dropout_scale();

  for (int column = first; column < shape.N_kv; column += kThreads * kWidth) {
    load_elements<T, kWidth>(p, P + column);  // @load_again
    load_elements<T, kWidth>(gradient, dP + column);
    zero_dropped(gradient, scores.template kept<kWidth>(column));  // @drop_dP_again
#pragma unroll
    for (int e = 0; e < kWidth; ++e) {
      // @softmax_gradient
      gradient[e] = p[e] * (gradient[e] * scores.dropout_scale() - D);
    }
    // @load_scores @soft_cap @apply_slope
    scores.template apply_slopes<T, kWidth>(gradient, parameters, row * shape.N_kv + column);
    store_elements<T, kWidth>(dP + column, gradient);  // @store
  }
}

}  // namespace attnscope::kernels
