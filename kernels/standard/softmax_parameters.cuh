/// Parameters of standard attention's row-wise launches, passed by value. Compiled for host and
/// device.
#pragma once

#include "kernels/score_parameters.cuh"
#include "reference/tiling.h"

namespace attnscope::kernels {

struct SoftmaxParameters {
  ForwardShape shape;
  Index rows = 0;               ///< B * H * N
  const void* S = nullptr;      ///< [B, H, N, N_kv], scaled
  void* P = nullptr;            ///< [B, H, N, N_kv]
  float* LSE = nullptr;         ///< [B, H, N] or null
  ScoreParameters scores = {};  ///< of scaled scores
  void* P_dropped = nullptr;    ///< [B, H, N, N_kv], P after dropout
};

struct SoftmaxGradientParameters {
  ForwardShape shape;
  Index rows = 0;               ///< B * H * N
  const void* P = nullptr;      ///< [B, H, N, N_kv]
  void* dP = nullptr;           ///< [B, H, N, N_kv]; dS overwrites it
  ScoreParameters scores = {};  ///< of scaled scores
  const void* S = nullptr;      ///< [B, H, N, N_kv], scaled, before the soft cap
};

}  // namespace attnscope::kernels
