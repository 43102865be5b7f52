/// A kernel's parameters for a problem's score function and for masks other than none and causal.
/// Internal to the kernels. Compiled for host and device.
#pragma once

#include "reference/fixed_width.h"

#include "kernels/forward_shape.cuh"

namespace attnscope::kernels {

/// Passed by value. The score function's biases and caps are in the unit of the kernel's scores:
/// for unscaled scores, they are divided by the softmax scale.
struct ScoreParameters {
  // The keys that a query sees
  int window_left = -1;   ///< keys before the diagonal; -1: all
  int window_right = -1;  ///< keys after the diagonal; -1: all
  bool top_left = false;
  int sequences = 0;                  ///< sequences packed into one; 0: not packed
  const int* cu_seqlens_q = nullptr;  ///< [sequences + 1], device memory
  const int* cu_seqlens_k = nullptr;
  const int* key_lengths = nullptr;  ///< [B] or null

  // Changes of a score
  float soft_cap = 0.0f;                ///< 0: none
  float inverse_soft_cap = 0.0f;        ///< 1 / soft_cap
  const float* alibi_slopes = nullptr;  ///< [H] or null

  // Dropout
  bool drops = false;
  uint32_t dropout_threshold = 0;  ///< random words below this drop their element
  float dropout_scale = 1.0f;      ///< 1 / (1 - p)
  uint64_t dropout_seed = 0;
  uint32_t first_batch = 0;
  uint32_t first_head = 0;
};

/// Keys [begin, end) that a query sees, and the key that it is aligned with (ALiBi).
struct SeenKeys {
  int begin, end, aligned;
};

/// The sequence that contains a query: the last one that begins at or before it.
ATTNSCOPE_HOST_DEVICE inline int packed_sequence_of(const ScoreParameters& scores, int query) {
  int first = 0;
  int past = scores.sequences;
  while (past - first > 1) {
    const int middle = (first + past) / 2;
    (scores.cu_seqlens_q[middle] <= query ? first : past) = middle;
  }
  return first;
}

ATTNSCOPE_HOST_DEVICE inline int clamp_to(int value, int low, int high) {
  return value < low ? low : (value > high ? high : value);
}

/// The same as AttentionProblem::keys_of().
ATTNSCOPE_HOST_DEVICE inline SeenKeys seen_keys(const ForwardShape& shape,
                                                const ScoreParameters& scores, int batch,
                                                int query) {
  int first_query = 0, queries = shape.N, first_key = 0, keys = shape.N_kv;
  if (scores.sequences > 0) {
    const int s = packed_sequence_of(scores, query);
    first_query = scores.cu_seqlens_q[s];
    queries = scores.cu_seqlens_q[s + 1] - first_query;
    first_key = scores.cu_seqlens_k[s];
    keys = scores.cu_seqlens_k[s + 1] - first_key;
  }
  const int end = scores.key_lengths == nullptr ? first_key + keys : scores.key_lengths[batch];
  const int top_left = first_key + query - first_query;
  const int bottom_right = top_left + keys - queries;
  const int centre = scores.top_left ? top_left : bottom_right;
  SeenKeys seen{first_key, end, bottom_right};
  if (scores.window_left >= 0) seen.begin = clamp_to(centre - scores.window_left, first_key, end);
  if (scores.window_right >= 0) {
    seen.end = clamp_to(centre + scores.window_right + 1, first_key, end);
  }
  return seen;
}

}  // namespace attnscope::kernels
