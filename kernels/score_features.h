/// What a problem does to its scores besides scaling them. Compiled for host and device.
#pragma once

namespace attnscope {
struct AttentionProblem;
}

namespace attnscope::kernels {

/// A template argument of the kernels: a kernel contains no code for a feature that is false.
/// Without any feature the problem is softmax attention with no mask or a causal one.
struct ScoreFeatures {
  bool key_ranges = false;  ///< sliding windows, key lengths or packed sequences
  bool soft_cap = false;
  bool alibi = false;
  bool dropout = false;

  constexpr bool any() const { return key_ranges || soft_cap || alibi || dropout; }
  /// Whether a feature depends on the head or the position, which a block then keeps in shared
  /// memory.
  constexpr bool depend_on_place() const { return key_ranges || alibi || dropout; }
};

ScoreFeatures score_features(const AttentionProblem& problem);

/// Those that flash1's backward pass is compiled with. Under any feature it reads each row's keys
/// from the table of key ranges: to compute them takes registers that it lacks.
ScoreFeatures flash1_backward_features(const AttentionProblem& problem);

}  // namespace attnscope::kernels
