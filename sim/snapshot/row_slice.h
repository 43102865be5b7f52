/// Actual values of the rows of one row tile, in a problem too large to execute completely: neither
/// the forward pass nor the backward pass's tiles of scores and their gradients need other rows. dK
/// and dV sum over all row tiles, so they are not computed.
#pragma once

#include <atomic>
#include <memory>
#include <span>

#include "sim/observers/numeric_executor.h"
#include "sim/snapshot/recorded_run.h"
#include "sim/snapshot/row_trackers.h"

namespace attnscope {

class RowSlice {
 public:
  /// `run` must outlive the slice, as must the problem and the inputs of its head.
  explicit RowSlice(const RecordedRun& run);

  /// The rows to execute for a row tile: if launches have larger tiles, all rows of those.
  RowRange aligned(RowRange rows) const;

  /// Brings these rows, which must be aligned, to the state after operation `step`; continues from
  /// the current step if that is earlier and for the same rows. Follows row `query` and column
  /// `column`.
  void move_to(Index step, const RowRange& rows, Index query, Index column);

  const NumericExecutor::OnChip& on_chip() const { return executor_->on_chip(); }
  const SoftmaxTracker& softmax() const { return softmax_; }
  const GradientTracker& gradients() const { return gradients_; }

 private:
  void restart(const RowRange& rows, Index query, Index column);
  void run_forward_pass();
  bool touches_rows(const RunInfo& run, std::size_t launch, Index block) const;
  /// The trackers that receive an operation: none in the forward pass before a backward pass.
  enum class Follow : std::uint8_t { nothing, softmax, both };
  void take(const TileOp& op, const TileGrid& grid, Follow follow);
  void execute(const TileOp& op, const TileGrid& grid, Follow follow);

  const RecordedRun& run_;
  std::unique_ptr<RunInfo> forward_;  ///< of a backward pass: the forward pass before it
  std::unique_ptr<NumericExecutor> executor_;
  RowRange rows_;
  Index step_ = -1;
  std::vector<TileOp> loads_;  ///< of keys and values in this block that no executed operation has
                               ///< used
  Index query_ = 0, column_ = 0;
  SoftmaxTracker softmax_{0, 0};
  GradientTracker gradients_{0, 0};
};

}  // namespace attnscope
