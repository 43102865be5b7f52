/// The steps of a score function on one element or four, shared by both passes of flash2: soft cap,
/// ALiBi and dropout, as defined in reference/score_function.h. Scores are stored unscaled, before
/// the softmax scale is applied (score_parameters.cuh).
#pragma once

#include "kernels/device/online_softmax.cuh"
#include "kernels/score_parameters.cuh"
#include "reference/dropout.h"

namespace attnscope::kernels::device {

/// tanh, within 2e-7.
__device__ inline float tanh_fast(float x) {
  constexpr float kTwoLog2e = 2.8853900817779268f;
  return 1.0f - __fdividef(2.0f, exp2_fast(x * kTwoLog2e) + 1.0f);
}

/// The head's ALiBi slope; 0 without ALiBi.
__device__ inline float alibi_slope(const ScoreParameters& scores, int head) {
  return scores.alibi_slopes == nullptr ? 0.0f : __ldg(scores.alibi_slopes + head);
}

/// -slope |distance|; `distance` is key - aligned.
__device__ inline float alibi_bias(float slope, float distance) {
  return -slope * fabsf(distance);
}

/// Which of four neighbouring keys dropout keeps for a query, one bit per key. `quad` is key / 4.
__device__ inline uint32_t kept_keys(const ScoreParameters& scores, int batch, int head, int query,
                                     int quad) {
  constexpr uint32_t kKeys = 4;
  auto seed_low = static_cast<uint32_t>(scores.dropout_seed);
  auto seed_high = static_cast<uint32_t>(scores.dropout_seed >> 32);
  keep_in_place(seed_low);  // otherwise the keys of all ten rounds occupy registers
  keep_in_place(seed_high);
  const PhiloxWords words = dropout_words(
      uint64_t{seed_high} << 32 | seed_low, scores.first_batch + static_cast<uint32_t>(batch),
      scores.first_head + static_cast<uint32_t>(head), static_cast<uint32_t>(query),
      static_cast<uint32_t>(quad));
  uint32_t kept = 0;
#pragma unroll
  for (uint32_t key = 0; key < kKeys; ++key) {
    kept |= (words.word[key] < scores.dropout_threshold ? 0u : 1u) << key;
  }
  return kept;
}

}  // namespace attnscope::kernels::device
