/// What a problem does to its scores besides scaling them. Compiled for host and device.
#pragma once

namespace attnscope {
struct AttentionProblem;
}

namespace attnscope::kernels {

/// A template argument of the kernels: what is false here is not in the kernel. Without any of it
/// the problem is softmax attention under no mask or a causal one.
struct ScoreFeatures {
  bool key_ranges = false;  ///< sliding windows, key lengths or packed sequences
  bool soft_cap = false;
  bool alibi = false;
  bool dropout = false;

  constexpr bool any() const { return key_ranges || soft_cap || alibi || dropout; }
  /// Those of one head or position: a block notes its own.
  constexpr bool depend_on_place() const { return key_ranges || alibi || dropout; }
};

ScoreFeatures score_features(const AttentionProblem& problem);

}  // namespace attnscope::kernels
