#include "sim/studies/deviation.h"

#include <algorithm>
#include <cmath>

namespace attnscope {

namespace {

double largest_of(const RowMatrix& values) {
  if (values.size() == 0) return 0.0;
  return values.array().isFinite().select(values.array().abs(), 0.0).maxCoeff();
}

/// The deviation of `wrong` from `right`; differences of at most `tolerance` are rounding.
Deviation deviation_beyond(double tolerance, const RowMatrix& wrong, const RowMatrix& right) {
  Deviation deviation;
  for (Eigen::Index k = 0; k < right.size(); ++k) {
    const double a = wrong.data()[k], b = right.data()[k];
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    if (std::isnan(a) != std::isnan(b)) {
      deviation.has_nan = true;
    } else if (const double error = std::abs(a - b); error > tolerance) {
      deviation.max_abs = std::max(deviation.max_abs, error);
    }
  }
  return deviation;
}

}  // namespace

Deviation deviation_of(const RowMatrix& wrong, const RowMatrix& right, double rounding) {
  return deviation_beyond(rounding * largest_of(right), wrong, right);
}

Deviation deviation_of_tile(const TileGrid& grid, const Tile& tile, const RowMatrix& wrong,
                            const RowMatrix& right, double rounding) {
  const double tolerance = rounding * largest_of(right);
  Deviation deviation = deviation_beyond(tolerance, wrong, right);
  const TensorLayout layout = layout_of(tile.tensor);
  const bool by_row = layout == TensorLayout::query_by_d || layout == TensorLayout::key_by_d;
  if (!by_row || !deviation.is_wrong()) return deviation;
  const Index rows_before = layout == TensorLayout::key_by_d
                                ? grid.keys_of(tile).begin - grid.col_begin(tile.j)
                                : grid.rows_of(tile).begin - grid.row_begin(tile.i);
  deviation.by_row.resize(static_cast<std::size_t>(rows_before));
  for (Eigen::Index row = 0; row < right.rows(); ++row) {
    deviation.by_row.push_back(
        deviation_beyond(tolerance, wrong.row(row), right.row(row)).largest());
  }
  return deviation;
}

}  // namespace attnscope
