/// The deviation of a broken run's values from those of the correct run (break_effect.h).
#pragma once

#include <limits>
#include <vector>

#include "sim/observers/numeric_executor.h"

namespace attnscope {

/// The deviation of values from those of the correct run.
struct Deviation {
  double max_abs = 0;    ///< infinite if only one of two values is; NaN elements are excluded
  bool has_nan = false;  ///< the broken run has a NaN where the correct run has none, or the
                         ///< reverse
  /// In TileDeviation of a wrong tile of O or a gradient that both runs hold: max_abs of each row
  /// of the row or column tile (0 for rows before its share), infinite if it has a NaN. Otherwise
  /// empty.
  std::vector<double> by_row = {};
  bool is_wrong() const { return has_nan || max_abs > 0; }
  /// max_abs; infinite with a NaN.
  double largest() const { return has_nan ? std::numeric_limits<double>::infinity() : max_abs; }
  bool operator==(const Deviation&) const = default;
};

/// The deviation of `wrong` from `right`. Differences of at most `rounding` times the largest of
/// the correct values are rounding. The two matrices have the same size.
Deviation deviation_of(const RowMatrix& wrong, const RowMatrix& right, double rounding);

/// The same for a tile, by row for O and the gradients: rows count from the first row of its row or
/// column tile, of which it may be a share.
Deviation deviation_of_tile(const TileGrid& grid, const Tile& tile, const RowMatrix& wrong,
                            const RowMatrix& right, double rounding);

}  // namespace attnscope
