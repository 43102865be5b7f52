#include "sim/snapshot/gradient_tracker.h"

#include <algorithm>

namespace attnscope {

namespace {

bool is_query_gradient(Tensor tensor) {
  return tensor == Tensor::dQ || tensor == Tensor::dQ_accum;
}

const NumericExecutor::Slot& slot_of(Tensor tensor, const NumericExecutor& executor) {
  return executor.on_chip()[static_cast<std::size_t>(tensor)][0];
}

}  // namespace

std::vector<double> GradientTracker::values(Tensor tensor, const NumericExecutor& executor) const {
  const NumericExecutor::Slot& slot = slot_of(tensor, executor);
  if (!slot.valid || row_.row_in_tile >= slot.values.rows()) return {};
  const auto row = slot.values.row(row_.row_in_tile);
  return {row.begin(), row.end()};
}

std::optional<double> GradientTracker::value(Tensor tensor, const NumericExecutor& executor,
                                             Index column) const {
  const NumericExecutor::Slot& slot = slot_of(tensor, executor);
  if (!slot.valid || row_.row_in_tile >= slot.values.rows() || column >= slot.values.cols()) {
    return std::nullopt;
  }
  return slot.values(row_.row_in_tile, column);
}

void GradientTracker::begin_tile(const Tile& tile, const TileGrid& grid) {
  GradientRow next;
  next.column = row_.column;
  next.known = true;
  next.i = tile.i;
  next.j = layout_of(tile.tensor) == TensorLayout::query_by_key ? tile.j : kAllColumns;
  next.row_in_tile = std::min(query_ % grid.tiling().Br, grid.rows_of(tile.i) - 1);
  next.query = grid.row_begin(tile.i) + next.row_in_tile;
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

void GradientTracker::note_statistics(const NumericExecutor& executor) {
  const auto note = [&](std::optional<double>& known, Tensor tensor) {
    if (const auto now = value(tensor, executor, 0)) known = now;
  };
  note(row_.LSE, Tensor::LSE);
  note(row_.m, Tensor::m);
  note(row_.l, Tensor::l);
  note(row_.D, Tensor::D);
}

void GradientTracker::before(const TileOp& op, const TileGrid& grid,
                             const NumericExecutor& executor) {
  // A tile begins with the first operation that computes a part of its row
  const Tile& dest = op.dest_tiles[0];
  const bool on_grid = layout_of(dest.tensor) == TensorLayout::query_by_key;
  const bool other_tile = !row_.known || row_.i != dest.i || row_.j != dest.j;
  if (dest.on_chip() && on_grid && (other_tile || op.kind == OpKind::scores)) {
    begin_tile(dest, grid);
  }
  const bool row_alone = op.kind == OpKind::row_dot && !row_.known;
  const bool next_row = op.kind == OpKind::load && dest.tensor == Tensor::Q && row_.i != dest.i;
  if (row_alone || next_row) begin_tile(dest, grid);
  if (!row_.known) return;
  note_statistics(executor);

  // Keep the previous gradient of the query
  if (op.kind == OpKind::gradient_product && is_query_gradient(dest.tensor)) {
    row_.dQ_prev = value(dest.tensor, executor, row_.column);
  } else if (op.kind == OpKind::atomic_add && dest.i == row_.i) {
    row_.dQ_prev = executor.hbm(dest.tensor)(row_.query, row_.column);
  }
}

void GradientTracker::after(const TileOp& op, const TileGrid& /*grid*/,
                            const NumericExecutor& executor) {
  if (!row_.known) return;
  const Tile& dest = op.dest_tiles[0];
  if (dest.on_chip()) {
    std::vector<double>* part = row_of(op);
    if (part != nullptr) *part = values(dest.tensor, executor);
    if (part == &row_.S) row_.S_by = op.kind;
    if (part == &row_.P) row_.P_by = op.kind;
    if (part == &row_.dP) row_.dP_by = op.kind;
    if (part == &row_.dS) row_.dS_by = op.kind;
  }
  if (op.kind == OpKind::row_dot || op.kind == OpKind::add_row_dot) note_statistics(executor);

  if (op.kind == OpKind::gradient_product && is_query_gradient(dest.tensor)) {
    const std::optional<double> now = value(dest.tensor, executor, row_.column);
    if (now && row_.dQ_prev) row_.dQ_part = *now - *row_.dQ_prev;
    // A part that is later added in HBM is not yet the gradient
    if (dest.tensor == Tensor::dQ) row_.dQ = now;
    if (dest.tensor == Tensor::dQ_accum) row_.dQ_prev.reset();
  } else if (op.kind == OpKind::atomic_add && dest.i == row_.i) {
    row_.dQ = executor.hbm(dest.tensor)(row_.query, row_.column);
  }
}

}  // namespace attnscope
