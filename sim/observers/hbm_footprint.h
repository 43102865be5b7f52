/// Records the HBM tensors that a pass touches: its inputs, outputs and workspace, all of them live
/// for the whole pass.
#pragma once

#include <bitset>

#include "sim/ops/observer.h"

namespace attnscope {

class HbmFootprint : public CountingObserver {
 public:
  void begin_launch(std::string_view name, const TileGrid& grid) override;
  void observe(std::span<const TileOp> ops) override;
  void mark() override {}
  void repeat(Index /*times*/) override {}  // a second access to a tensor adds nothing

  bool touches(Tensor tensor) const { return touched_[static_cast<std::size_t>(tensor)]; }
  /// Whether the pass reads the tensor before it writes it, so that its value predates the pass.
  bool needs(Tensor tensor) const { return needed_[static_cast<std::size_t>(tensor)]; }
  /// Bytes of all touched tensors over batch and heads. dS overwrites dP in place: each element of
  /// dP is last read just before its dS is written.
  Index peak_bytes(const AttentionProblem& problem) const;

 private:
  std::bitset<kTensorCount> touched_, needed_;
  Index splits_ = 1;
};

/// Bytes of one whole tensor over batch and heads (KV heads for K and V). Throws CountTooLarge.
Index whole_tensor_bytes(Tensor tensor, const AttentionProblem& problem, Index splits = 1);

}  // namespace attnscope
