/// Follows the running softmax of one query row while operations are executed, as the screen's
/// online-softmax panel shows it.
#pragma once

#include "sim/observers/numeric_executor.h"
#include "sim/snapshot/snapshot.h"

namespace attnscope {

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
  std::optional<double> value(Tensor tensor, const NumericExecutor& executor, Index column) const;

  Index query_;
  SoftmaxRow row_;
  bool consistent_ = false;
  bool normalized_ = false;
  Index key_end_ = 0;
};

}  // namespace attnscope
