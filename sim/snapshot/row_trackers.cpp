#include "sim/snapshot/row_trackers.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace attnscope {

namespace {

/// One row of the tiles currently on chip.
struct RowOnChip {
  const NumericExecutor& executor;
  const TileGrid& grid;
  Index query;

  /// The row's values in the slot; empty if the slot does not have the row.
  std::span<const double> values(const NumericExecutor::Slot& slot) const {
    if (!slot.valid) return {};
    const Index row = query - grid.rows_of(slot.tile).begin;
    if (row < 0 || row >= slot.values.rows()) return {};
    return {&slot.values(row, 0), static_cast<std::size_t>(slot.values.cols())};
  }
  /// The values in the slot that has the row: with agents or stages, a tensor has several slots.
  std::span<const double> values(Tensor tensor) const {
    for (const auto& slot : executor.on_chip()[static_cast<std::size_t>(tensor)]) {
      const std::span<const double> found = values(slot);
      if (!found.empty()) return found;
    }
    return {};
  }
  std::optional<double> value(Tensor tensor, Index column = 0) const {
    const std::span<const double> row = values(tensor);
    if (column >= std::ssize(row)) return std::nullopt;
    return row[static_cast<std::size_t>(column)];
  }
};

/// Whether the tensor has probabilities, before or after dropout.
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
  const RowOnChip on_chip{executor, grid, query_};
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
  const RowOnChip on_chip{executor, grid, query_};
  switch (op.kind) {
    case OpKind::row_max:
      row_.row_max = on_chip.value(dest.tensor);
      if (dest.tensor == Tensor::m) row_.m = row_.row_max;
      break;
    case OpKind::running_max: {
      row_.m = on_chip.value(Tensor::m);
      row_.alpha = on_chip.value(Tensor::alpha);
      if (row_.row_max) break;  // flash1 computes it in a separate operation
      const std::span<const double> S = on_chip.values(Tensor::S);
      if (!S.empty()) row_.row_max = *std::ranges::max_element(S);
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
      const std::span<const double> P = on_chip.values(Tensor::P);
      if (!row_.row_sum && !P.empty()) row_.row_sum = std::accumulate(P.begin(), P.end(), 0.0);
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
  dS_is_in_place_ = false;
}

/// The part of the row that the op computes; nullptr if it computes none.
std::vector<double>* GradientTracker::row_of(const TileOp& op) {
  if (op.kind == OpKind::softmax_gradient) return &row_.dS;
  switch (op.dest_tiles[0].tensor) {
    case Tensor::S:
      return &row_.S;
    case Tensor::P:
      return &row_.P;
    case Tensor::dP:
      return dS_is_in_place_ ? &row_.dS : &row_.dP;
    case Tensor::dS:
      return &row_.dS;
    case Tensor::T:
      return &row_.T;
    default:
      return nullptr;
  }
}

namespace {

/// Records the row of a tile of scores; a consumer's share of the keys is merged with the others'
/// shares.
void note_row(const Tile& tile, const RowOnChip& on_chip, std::vector<double>& row) {
  const std::span<const double> values = on_chip.values(on_chip.executor.slot(tile));
  const TileGrid& grid = on_chip.grid;
  const TileShare share = grid.share_of(tile);
  if (share.of != TileShare::Of::keys || share.in_whole_tile || values.empty()) {
    row.assign(values.begin(), values.end());
    return;
  }
  row.resize(static_cast<std::size_t>(grid.cols_of(tile.j)),
             std::numeric_limits<double>::quiet_NaN());
  std::ranges::copy(values, row.begin() + (grid.keys_of(tile).begin - grid.col_begin(tile.j)));
}

}  // namespace

void GradientTracker::note_statistics(const TileGrid& grid, const NumericExecutor& executor) {
  const RowOnChip on_chip{executor, grid, query_};
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
  // Each consumer computes the scores of its keys of the same tile
  const bool begins = op.kind == OpKind::scores && grid.share_of(dest).of != TileShare::Of::keys;
  if (dest.on_chip() && on_grid && (other_tile || begins)) begin_tile(dest, grid);
  const bool row_alone = op.kind == OpKind::row_dot && !row_.known;
  const bool next_row = op.kind == OpKind::load && dest.tensor == Tensor::Q && row_.i != dest.i;
  if (row_alone || next_row) begin_tile(dest, grid);
  if (!row_.known || op.skipped) return;
  const RowOnChip on_chip{executor, grid, query_};
  note_statistics(grid, executor);

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
  const RowOnChip on_chip{executor, grid, query_};
  if (dest.on_chip()) {
    std::vector<double>* part = row_of(op);
    if (part != nullptr) note_row(dest, on_chip, *part);
    if (op.kind == OpKind::softmax_gradient) dS_is_in_place_ = dest.tensor == Tensor::dP;
    if (part == &row_.S) row_.S_by = op.kind;
    if (part == &row_.P) row_.P_by = op.kind;
    if (part == &row_.dP) row_.dP_by = op.kind;
    if (part == &row_.dS) row_.dS_by = op.kind;
  }
  if (op.kind == OpKind::row_dot || op.kind == OpKind::add_row_dot) {
    note_statistics(grid, executor);
  }

  if (op.kind == OpKind::gradient_product && is_query_gradient(dest.tensor)) {
    const std::optional<double> now = on_chip.value(dest.tensor, row_.column);
    if (now && row_.dQ_prev) row_.dQ_part = *now - *row_.dQ_prev;
    // A part that is added in HBM later is not yet the gradient
    if (dest.tensor == Tensor::dQ) row_.dQ = now;
    if (dest.tensor == Tensor::dQ_accum) row_.dQ_prev.reset();
  } else if (op.kind == OpKind::atomic_add && dest.i == row_.i) {
    row_.dQ = executor.hbm(dest.tensor)(row_.query, row_.column);
  }
}

}  // namespace attnscope
