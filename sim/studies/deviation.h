/// Deviations of a broken run's values from those of the correct run (break_effect.h).
#pragma once

#include <limits>
#include <vector>

#include "sim/ops/tile_op.h"

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

/// The deviation of a tile, on chip or in HBM, from this step until the tile's next entry.
struct TileDeviation {
  Index step = 0;
  Tile tile;  ///< its slot says whether it is on chip or in HBM
  Deviation deviation;
};

/// A tensor of the result.
struct ResultDeviation {
  Tensor tensor = Tensor::O;
  Deviation deviation;
  std::vector<double> by_row;  ///< max_abs of each row; infinite if it has a NaN
};

}  // namespace attnscope
