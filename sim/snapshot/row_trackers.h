/// One row followed through a pass, forward and backward, while operations are executed.
#pragma once

#include "sim/observers/numeric_executor.h"
#include "sim/snapshot/snapshot.h"

namespace attnscope {

/// Follows the running softmax of one query row, as the screen's online-softmax panel shows it.
class SoftmaxTracker {
 public:
  /// Follows, in the row tile being processed, the row at the same position as `query` in its row
  /// tile, and column `O_column` of O.
  SoftmaxTracker(Index query, Index O_column) : query_(query) { row_.O_column = O_column; }

  /// Forgets the row: a thread block starts with nothing.
  void begin_block();
  /// Record the values that the op is about to change, and, after it, those it has changed.
  void before(const TileOp& op, const TileGrid& grid, const NumericExecutor& executor);
  void after(const TileOp& op, const TileGrid& grid, const NumericExecutor& executor);

  const SoftmaxRow& row() const { return row_; }
  /// O (times 1 / l where it is not kept normalised) equals attention over the keys seen so far.
  bool consistent() const { return consistent_; }
  /// First key past the column tiles that were folded in.
  Index key_end() const { return key_end_; }
  bool normalized() const { return normalized_; }

 private:
  void begin_tile(const Tile& S, const TileGrid& grid);

  Index query_;
  SoftmaxRow row_;
  bool consistent_ = false;
  bool normalized_ = false;
  Index key_end_ = 0;
};

/// Follows one query row of a backward pass: its scores and probabilities, recomputed or read back,
/// their gradients, and its contribution to dQ.
class GradientTracker {
 public:
  /// Follows, in the row tile being processed, the row at the same position as `query` in its row
  /// tile, and column `column` of dQ.
  GradientTracker(Index query, Index column) : query_(query) { row_.column = column; }

  /// Record the values that the op is about to use or change, and, after it, those it has changed.
  void before(const TileOp& op, const TileGrid& grid, const NumericExecutor& executor);
  void after(const TileOp& op, const TileGrid& grid, const NumericExecutor& executor);

  const GradientRow& row() const { return row_; }

 private:
  void begin_tile(const Tile& tile, const TileGrid& grid);
  void note_statistics(const NumericExecutor& executor);
  std::vector<double>* row_of(const TileOp& op);

  Index query_;
  GradientRow row_;
};

}  // namespace attnscope
