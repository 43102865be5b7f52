#include "sim/studies/right_run.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace attnscope {

void RightRun::begin_launch(std::string_view name, const TileGrid& grid) {
  grid_ = &grid;
  executor_.begin_launch(name, grid);
  launch_ = &pass_.launches[launch_count_++];
}

void RightRun::begin_block(const BlockId& block) {
  executor_.begin_block(block);
  in_advance_.clear();
  if (!launch_->by_agents()) return;
  Observer* const observers[] = {this};
  Program program(observers);
  program.begin_block(block);
  launch_->run(*grid_, block.block, program);
}

void RightRun::observe(std::span<const TileOp> ops) {
  for (const TileOp& op : ops) in_advance_[op.agent].push_back(executed(op));
}

RightResult RightRun::result_of(const TileOp& op) {
  if (!launch_->by_agents()) {
    TileOp whole = op;
    whole.skipped = false;
    return executed(whole);
  }
  std::deque<RightResult>& results = in_advance_[op.agent];
  RightResult result = std::move(results.front());
  results.pop_front();
  return result;
}

HeldTile RightRun::held(const Tile& tile) const {
  if (tile.on_chip()) {
    auto values = executor_.held(tile);
    return values ? HeldTile{true, *std::move(values)} : HeldTile{};
  }
  const RowMatrix& tensor = executor_.hbm(tile.tensor);
  if (tensor.size() == 0) return {};
  const Shape shape = grid_->shape(tile), origin = grid_->origin(tile);
  return {true, tensor.block(origin.rows, origin.cols, shape.rows, shape.cols)};
}

RightResult RightRun::executed(const TileOp& op) {
  RightResult result;
  if (op.dest_count > 0) result.before = held(op.dest_tiles[0]);
  executor_.execute(op);
  for (std::size_t k = 0; k < op.dest_count; ++k) result.after[k] = held(op.dest_tiles[k]);
  return result;
}

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
