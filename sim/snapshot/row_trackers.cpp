#include "sim/snapshot/row_trackers.h"

#include <algorithm>

namespace attnscope {

namespace {

/// One row of the tiles that are on chip now, those of a share of the rows.
struct RowOnChip {
  const NumericExecutor& executor;
  Index row_in_tile;
  std::size_t share;

  const NumericExecutor::Slot& slot_of(Tensor tensor) const {
    return executor.on_chip()[static_cast<std::size_t>(tensor)][share];
  }
  /// Empty if the tensor is not there.
  std::vector<double> values(Tensor tensor) const {
    const NumericExecutor::Slot& slot = slot_of(tensor);
    if (!slot.valid || row_in_tile >= slot.values.rows()) return {};
    const auto row = slot.values.row(row_in_tile);
    return {row.begin(), row.end()};
  }
  std::optional<double> value(Tensor tensor, Index column = 0) const {
    const NumericExecutor::Slot& slot = slot_of(tensor);
    const bool is_there = slot.valid && row_in_tile < slot.values.rows();
    if (!is_there || column >= slot.values.cols()) return std::nullopt;
    return slot.values(row_in_tile, column);
  }
};

/// The share of the row tile that the operation works on, of a grid that has shares.
std::size_t share_of(const TileOp& op, const TileGrid& grid) {
  return grid.row_shares() > 1 ? op.dest_tiles[0].part : 0U;
}

/// Probabilities, before or after dropout.
bool is_probability(Tensor tensor) {
  return tensor == Tensor::P || tensor == Tensor::P_drop;
}

bool is_query_gradient(Tensor tensor) {
  return tensor == Tensor::dQ || tensor == Tensor::dQ_accum;
}

/// The query rows of a tile; empty for a tile of keys.
RowRange rows_of(const Tile& tile, const TileGrid& grid) {
  const TensorLayout layout = layout_of(tile.tensor);
  if (layout == TensorLayout::key_by_d || layout == TensorLayout::group_key_by_d) return {};
  const KeyRange rows = grid.rows_of(tile);
  return {rows.begin, rows.end};
}

}  // namespace

RowRange rows_of(const TileOp& op, const TileGrid& grid) {
  for (const auto tiles : {op.dests(), op.sources()}) {
    for (const Tile& tile : tiles) {
      const RowRange rows = rows_of(tile, grid);
      if (rows.end > rows.begin) return rows;
    }
  }
  return {};
}

void SoftmaxTracker::begin_tile(const Tile& S, const TileGrid& grid) {
  SoftmaxRow next;
  next.O_column = row_.O_column;
  next.known = true;
  next.i = S.i;
  next.j = S.j;
  next.row_in_tile = query_ - grid.rows_of(S).begin;
  next.query = query_;
  row_ = next;
  consistent_ = false;
}

void SoftmaxTracker::before(const TileOp& op, const TileGrid& grid,
                            const NumericExecutor& executor) {
  if (!rows_of(op, grid).contains(query_)) return;
  const Tile& dest = op.dest_tiles[0];
  const bool comes_back =
      op.kind == OpKind::load &&
      (dest.tensor == Tensor::S || is_probability(dest.tensor) || dest.tensor == Tensor::LSE_split);
  if (op.kind == OpKind::scores || comes_back) begin_tile(dest, grid);
  if (op.skipped) return;
  const RowOnChip on_chip{executor, row_.row_in_tile, share_of(op, grid)};
  switch (op.kind) {
    case OpKind::running_max:
      row_.m_prev = on_chip.value(Tensor::m);
      break;
    case OpKind::rescale:
      if (dest.tensor == Tensor::l && !row_.l_prev) {
        row_.l_prev = on_chip.value(Tensor::l);
        consistent_ = false;
      }
      if (dest.tensor == Tensor::O && !row_.O_prev) {
        row_.O_prev = on_chip.value(Tensor::O, row_.O_column);
      }
      break;
    case OpKind::add:
      if (dest.tensor != Tensor::O) break;
      [[fallthrough]];
    case OpKind::accumulate:
      row_.PV = on_chip.value(Tensor::O, row_.O_column);  // after() subtracts it
      break;
    default:
      break;
  }
}

void SoftmaxTracker::after(const TileOp& op, const TileGrid& grid,
                           const NumericExecutor& executor) {
  if (op.skipped || !rows_of(op, grid).contains(query_)) return;
  const Tile& dest = op.dest_tiles[0];
  const RowOnChip on_chip{executor, row_.row_in_tile, share_of(op, grid)};
  switch (op.kind) {
    case OpKind::row_max:
      row_.row_max = on_chip.value(dest.tensor);
      if (dest.tensor == Tensor::m) row_.m = row_.row_max;
      break;
    case OpKind::running_max: {
      row_.m = on_chip.value(Tensor::m);
      row_.alpha = on_chip.value(Tensor::alpha);
      if (row_.row_max) break;  // flash1 computes it in a separate operation
      const auto& S = on_chip.slot_of(Tensor::S);
      if (S.valid) row_.row_max = S.values.row(row_.row_in_tile).maxCoeff();
      if (op.source_tiles[0].tensor == Tensor::LSE_split) {
        row_.row_max = on_chip.value(Tensor::LSE_split);
      }
      break;
    }
    case OpKind::exp:
      if (dest.tensor == Tensor::beta) row_.beta = on_chip.value(Tensor::beta);
      break;
    case OpKind::row_sum:
      row_.row_sum = on_chip.value(dest.tensor);
      if (dest.tensor == Tensor::l) row_.l = row_.row_sum;
      break;
    case OpKind::add_row_sum: {
      row_.l = on_chip.value(Tensor::l);
      const auto& P = on_chip.slot_of(Tensor::P);
      if (!row_.row_sum && P.valid) row_.row_sum = P.values.row(row_.row_in_tile).sum();
      break;
    }
    case OpKind::add: {
      if (dest.tensor == Tensor::l) row_.l = on_chip.value(Tensor::l);
      if (dest.tensor != Tensor::O) break;
      row_.O = on_chip.value(Tensor::O, row_.O_column);
      if (row_.O && row_.PV) row_.PV = *row_.O - *row_.PV;
      break;
    }
    case OpKind::accumulate: {
      const std::optional<double> O = on_chip.value(Tensor::O, row_.O_column);
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
      row_.O = on_chip.value(Tensor::O, row_.O_column);
      normalized_ = true;
      break;
    case OpKind::fill_zero:
      if (dest.tensor == Tensor::O) consistent_ = false;
      break;
    default:
      break;
  }
}

void GradientTracker::begin_tile(const Tile& tile, const TileGrid& grid) {
  GradientRow next;
  next.column = row_.column;
  next.known = true;
  next.i = tile.i;
  next.j = is_score(tile.tensor) ? tile.j : kAllColumns;
  next.row_in_tile = query_ - grid.rows_of(tile).begin;
  next.query = query_;
  next.key_begin = grid.col_begin(next.j);
  row_ = next;
}

/// The part of the row that the op computes; nullptr when it computes none.
std::vector<double>* GradientTracker::row_of(const TileOp& op) {
  if (op.kind == OpKind::softmax_gradient) return &row_.dS;
  switch (op.dest_tiles[0].tensor) {
    case Tensor::S:
      return &row_.S;
    case Tensor::P:
      return &row_.P;
    case Tensor::dP:
      return row_.dS.empty() ? &row_.dP : &row_.dS;  // dS may overwrite dP in its slot
    case Tensor::dS:
      return &row_.dS;
    case Tensor::T:
      return &row_.T;
    default:
      return nullptr;
  }
}

void GradientTracker::note_statistics(const NumericExecutor& executor, std::size_t share) {
  const RowOnChip on_chip{executor, row_.row_in_tile, share};
  const auto note = [&](std::optional<double>& known, Tensor tensor) {
    if (const auto now = on_chip.value(tensor)) known = now;
  };
  note(row_.LSE, Tensor::LSE);
  note(row_.m, Tensor::m);
  note(row_.l, Tensor::l);
  note(row_.D, Tensor::D);
}

void GradientTracker::before(const TileOp& op, const TileGrid& grid,
                             const NumericExecutor& executor) {
  if (!rows_of(op, grid).contains(query_)) return;

  // A tile begins with the first operation that computes a part of its row
  const Tile& dest = op.dest_tiles[0];
  const bool on_grid = is_score(dest.tensor);
  const bool other_tile = !row_.known || row_.i != dest.i || row_.j != dest.j;
  if (dest.on_chip() && on_grid && (other_tile || op.kind == OpKind::scores)) {
    begin_tile(dest, grid);
  }
  const bool row_alone = op.kind == OpKind::row_dot && !row_.known;
  const bool next_row = op.kind == OpKind::load && dest.tensor == Tensor::Q && row_.i != dest.i;
  if (row_alone || next_row) begin_tile(dest, grid);
  if (!row_.known || op.skipped) return;
  const RowOnChip on_chip{executor, row_.row_in_tile, share_of(op, grid)};
  note_statistics(executor, on_chip.share);

  // Keep the previous gradient of the query
  if (op.kind == OpKind::gradient_product && is_query_gradient(dest.tensor)) {
    row_.dQ_prev = on_chip.value(dest.tensor, row_.column);
  } else if (op.kind == OpKind::atomic_add && dest.i == row_.i) {
    row_.dQ_prev = executor.hbm(dest.tensor)(row_.query, row_.column);
  }
}

void GradientTracker::after(const TileOp& op, const TileGrid& grid,
                            const NumericExecutor& executor) {
  if (!row_.known || op.skipped || !rows_of(op, grid).contains(query_)) return;
  const Tile& dest = op.dest_tiles[0];
  const RowOnChip on_chip{executor, row_.row_in_tile, share_of(op, grid)};
  if (dest.on_chip()) {
    std::vector<double>* part = row_of(op);
    if (part != nullptr) *part = on_chip.values(dest.tensor);
    if (part == &row_.S) row_.S_by = op.kind;
    if (part == &row_.P) row_.P_by = op.kind;
    if (part == &row_.dP) row_.dP_by = op.kind;
    if (part == &row_.dS) row_.dS_by = op.kind;
  }
  if (op.kind == OpKind::row_dot || op.kind == OpKind::add_row_dot) {
    note_statistics(executor, on_chip.share);
  }

  if (op.kind == OpKind::gradient_product && is_query_gradient(dest.tensor)) {
    const std::optional<double> now = on_chip.value(dest.tensor, row_.column);
    if (now && row_.dQ_prev) row_.dQ_part = *now - *row_.dQ_prev;
    // A part that is later added in HBM is not yet the gradient
    if (dest.tensor == Tensor::dQ) row_.dQ = now;
    if (dest.tensor == Tensor::dQ_accum) row_.dQ_prev.reset();
  } else if (op.kind == OpKind::atomic_add && dest.i == row_.i) {
    row_.dQ = executor.hbm(dest.tensor)(row_.query, row_.column);
  }
}

}  // namespace attnscope
