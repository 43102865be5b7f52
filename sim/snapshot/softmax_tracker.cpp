#include "sim/snapshot/softmax_tracker.h"

#include <algorithm>

namespace attnscope {

namespace {

/// Probabilities, before or after dropout.
bool is_probability(Tensor tensor) {
  return tensor == Tensor::P || tensor == Tensor::P_drop;
}

}  // namespace

std::optional<double> SoftmaxTracker::value(Tensor tensor, const NumericExecutor& executor,
                                            Index column) const {
  const NumericExecutor::Slot& slot = executor.on_chip()[static_cast<std::size_t>(tensor)][0];
  if (!slot.valid || row_.row_in_tile >= slot.values.rows() || column >= slot.values.cols()) {
    return std::nullopt;
  }
  return slot.values(row_.row_in_tile, column);
}

void SoftmaxTracker::begin_block() {
  SoftmaxRow empty;
  empty.O_column = row_.O_column;
  row_ = empty;
  consistent_ = false;
}

void SoftmaxTracker::begin_tile(const Tile& S, const TileGrid& grid) {
  SoftmaxRow next;
  next.O_column = row_.O_column;
  next.known = true;
  next.i = S.i;
  next.j = S.j;
  next.row_in_tile = std::min(query_ % grid.tiling().Br, grid.rows_of(S.i) - 1);
  next.query = grid.row_begin(S.i) + next.row_in_tile;
  row_ = next;
  consistent_ = false;
}

void SoftmaxTracker::before(const TileOp& op, const TileGrid& grid,
                            const NumericExecutor& executor) {
  const Tile& dest = op.dest_tiles[0];
  const bool comes_back =
      op.kind == OpKind::load &&
      (dest.tensor == Tensor::S || is_probability(dest.tensor) || dest.tensor == Tensor::LSE_split);
  if (op.kind == OpKind::scores || comes_back) begin_tile(dest, grid);
  switch (op.kind) {
    case OpKind::running_max:
      row_.m_prev = value(Tensor::m, executor, 0);
      break;
    case OpKind::rescale:
      if (dest.tensor == Tensor::l && !row_.l_prev) {
        row_.l_prev = value(Tensor::l, executor, 0);
        consistent_ = false;
      }
      if (dest.tensor == Tensor::O && !row_.O_prev) {
        row_.O_prev = value(Tensor::O, executor, row_.O_column);
      }
      break;
    case OpKind::add:
      if (dest.tensor != Tensor::O) break;
      [[fallthrough]];
    case OpKind::accumulate:
      row_.PV = value(Tensor::O, executor, row_.O_column);  // after() subtracts it
      break;
    default:
      break;
  }
}

void SoftmaxTracker::after(const TileOp& op, const TileGrid& grid,
                           const NumericExecutor& executor) {
  const Tile& dest = op.dest_tiles[0];
  switch (op.kind) {
    case OpKind::row_max:
      row_.row_max = value(dest.tensor, executor, 0);
      if (dest.tensor == Tensor::m) row_.m = row_.row_max;
      break;
    case OpKind::running_max: {
      row_.m = value(Tensor::m, executor, 0);
      row_.alpha = value(Tensor::alpha, executor, 0);
      if (row_.row_max) break;  // flash1 computes it in a separate operation
      const auto& S = executor.on_chip()[static_cast<std::size_t>(Tensor::S)][0];
      if (S.valid) row_.row_max = S.values.row(row_.row_in_tile).maxCoeff();
      if (op.source_tiles[0].tensor == Tensor::LSE_split) {
        row_.row_max = value(Tensor::LSE_split, executor, 0);
      }
      break;
    }
    case OpKind::exp:
      if (dest.tensor == Tensor::beta) row_.beta = value(Tensor::beta, executor, 0);
      break;
    case OpKind::row_sum:
      row_.row_sum = value(dest.tensor, executor, 0);
      if (dest.tensor == Tensor::l) row_.l = row_.row_sum;
      break;
    case OpKind::add_row_sum: {
      row_.l = value(Tensor::l, executor, 0);
      const auto& P = executor.on_chip()[static_cast<std::size_t>(Tensor::P)][0];
      if (!row_.row_sum && P.valid) row_.row_sum = P.values.row(row_.row_in_tile).sum();
      break;
    }
    case OpKind::add: {
      if (dest.tensor == Tensor::l) row_.l = value(Tensor::l, executor, 0);
      if (dest.tensor != Tensor::O) break;
      row_.O = value(Tensor::O, executor, row_.O_column);
      if (row_.O && row_.PV) row_.PV = *row_.O - *row_.PV;
      break;
    }
    case OpKind::accumulate: {
      const std::optional<double> O = value(Tensor::O, executor, row_.O_column);
      if (O && row_.PV) row_.PV = *O - *row_.PV;
      row_.O = O;
      if (!is_probability(op.source_tiles[0].tensor)) break;
      // Probabilities loaded from HBM are already divided by l: O is complete after the last tile
      consistent_ = row_.l || row_.j + 1 == grid.Tc();
      normalized_ = !row_.l;
      key_end_ = grid.col_begin(row_.j) + grid.cols_of(row_.j);
      break;
    }
    case OpKind::normalize:
      if (dest.tensor != Tensor::O) break;
      row_.undivided = row_.O;
      row_.O = value(Tensor::O, executor, row_.O_column);
      normalized_ = true;
      break;
    case OpKind::fill_zero:
      if (dest.tensor == Tensor::O) consistent_ = false;
      break;
    default:
      break;
  }
}

}  // namespace attnscope
