/// Follows one row through a pass, forward and backward, while operations are executed.
#pragma once

#include "sim/observers/numeric_executor.h"
#include "sim/snapshot/snapshot.h"

namespace attnscope {

/// Query rows [begin, end).
struct RowRange {
  Index begin = 0, end = 0;
  bool contains(Index row) const { return row >= begin && row < end; }
  bool meets(const RowRange& other) const { return begin < other.end && other.begin < end; }
  bool operator==(const RowRange&) const = default;
};

/// The rows that an operation processes; empty if it only touches tiles of keys.
RowRange rows_of(const TileOp& op, const TileGrid& grid);

/// Follows the running softmax of one query row, as shown in the online-softmax panel. Operations
/// on other rows do not change it.
class SoftmaxTracker {
 public:
  /// Follows row `query`, and column `O_column` of O.
  SoftmaxTracker(Index query, Index O_column) : query_(query) { row_.O_column = O_column; }

  /// Record the values that the op is about to change and, after it, those that it has changed.
  void before(const TileOp& op, const TileGrid& grid, const NumericExecutor& executor);
  void after(const TileOp& op, const TileGrid& grid, const NumericExecutor& executor);

  const SoftmaxRow& row() const { return row_; }
  /// Whether O (times 1 / l if it is not kept normalised) is attention over the keys seen so far.
  bool consistent() const { return consistent_; }
  /// The first key after the column tiles folded in so far.
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
/// their gradients, and its contribution to dQ. Operations on other rows do not change it.
class GradientTracker {
 public:
  /// Follows row `query`, and column `column` of dQ.
  GradientTracker(Index query, Index column) : query_(query) { row_.column = column; }

  /// Record the values that the op is about to use or change and, after it, those that it has
  /// changed.
  void before(const TileOp& op, const TileGrid& grid, const NumericExecutor& executor);
  void after(const TileOp& op, const TileGrid& grid, const NumericExecutor& executor);

  const GradientRow& row() const { return row_; }

 private:
  void begin_tile(const Tile& tile, const TileGrid& grid);
  void note_statistics(const TileGrid& grid, const NumericExecutor& executor);
  std::vector<double>* row_of(const TileOp& op);

  Index query_;
  GradientRow row_;
  bool dS_is_in_place_ = false;  ///< dS is in the slot of dP
};

}  // namespace attnscope
