/// The softmax's gradient in standard attention's backward pass. Internal.
#pragma once

#include "kernels/forward_parameters.h"
#include "reference/attention_problem.h"

namespace attnscope::kernels {

struct SoftmaxGradientParameters {
  ForwardShape shape;
  Index rows = 0;           ///< B * H * N
  const void* P = nullptr;  ///< [B, H, N, N_kv]
  void* dP = nullptr;       ///< [B, H, N, N_kv]; dS overwrites it
};

/// For problems with has_score_parameters().
struct ScoredGradientParameters : SoftmaxGradientParameters {
  ScoreParameters scores = {};  ///< of scaled scores
  const void* S = nullptr;      ///< [B, H, N, N_kv], scaled, before the soft cap
};

/// fp16 and bf16.
void start_softmax_gradient(const SoftmaxGradientParameters& parameters, DType dtype, void* stream);
void start_softmax_gradient(const ScoredGradientParameters& parameters, DType dtype, void* stream);

}  // namespace attnscope::kernels
