/// The softmax launch of standard attention. Internal.
#pragma once

#include "kernels/forward_parameters.h"
#include "reference/attention_problem.h"

namespace attnscope::kernels {

struct SoftmaxParameters {
  ForwardShape shape;
  Index rows = 0;           ///< B * H * N
  const void* S = nullptr;  ///< [B, H, N, N_kv], scaled
  void* P = nullptr;        ///< [B, H, N, N_kv]
  float* LSE = nullptr;     ///< [B, H, N] or null
};

/// For problems with has_score_parameters().
struct ScoredSoftmaxParameters : SoftmaxParameters {
  ScoreParameters scores = {};  ///< of scaled scores
  void* P_dropped = nullptr;    ///< [B, H, N, N_kv], P after dropout
};

void start_softmax_forward(const SoftmaxParameters& parameters, DType dtype, void* stream);
void start_softmax_forward(const ScoredSoftmaxParameters& parameters, DType dtype, void* stream);

}  // namespace attnscope::kernels
