/// The features of a problem that change its scores, besides scaling. Compiled for host and device.
#pragma once

namespace attnscope::kernels {

/// A template argument of the kernels: a kernel contains no code for a feature that is false.
/// Without any feature the problem is softmax attention with no mask or a causal one.
struct ScoreFeatures {
  bool key_ranges = false;  ///< sliding windows, key lengths or packed sequences
  bool soft_cap = false;
  bool alibi = false;
  bool dropout = false;

  constexpr bool any() const { return key_ranges || soft_cap || alibi || dropout; }
  /// Whether a feature depends on the head or the position: the block then keeps these in shared
  /// memory.
  constexpr bool depend_on_place() const { return key_ranges || alibi || dropout; }
};

}  // namespace attnscope::kernels
