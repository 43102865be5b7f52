/// Follows one query row of a backward pass while operations are executed: its scores and
/// probabilities, recomputed or read back, their gradients, and its contribution to dQ.
#pragma once

#include "sim/observers/numeric_executor.h"
#include "sim/snapshot/snapshot.h"

namespace attnscope {

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
  std::vector<double> values(Tensor tensor, const NumericExecutor& executor) const;
  std::optional<double> value(Tensor tensor, const NumericExecutor& executor, Index column) const;
  void note_statistics(const NumericExecutor& executor);
  std::vector<double>* row_of(const TileOp& op);

  Index query_;
  GradientRow row_;
};

}  // namespace attnscope
