/// The softmax launch of standard attention. Internal.
#pragma once

#include "kernels/forward_parameters.h"

namespace attnscope::kernels {

struct SoftmaxParameters {
  ForwardShape shape;
  Index rows = 0;           ///< B * H * N
  const void* S = nullptr;  ///< [B, H, N, N_kv], scaled
  void* P = nullptr;        ///< [B, H, N, N_kv]
  float* LSE = nullptr;     ///< [B, H, N] or null
};

void start_softmax_forward(const SoftmaxParameters& parameters, DType dtype, void* stream);

}  // namespace attnscope::kernels
