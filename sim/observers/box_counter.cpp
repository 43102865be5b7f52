#include "sim/observers/box_counter.h"

#include <algorithm>

namespace attnscope {

namespace {

Index rounded_up(Index count, Index multiple) {
  return ceil_div(count, multiple) * multiple;
}

}  // namespace

void BoxCounter::observe(std::span<const TileOp> ops) {
  for (const TileOp& op : ops) {
    if (!op.moves_bytes()) continue;
    const bool is_load = op.kind == OpKind::load;
    const Tensor tensor = (is_load ? op.source_tiles[0] : op.dest_tiles[0]).tensor;
    if (tensor == Tensor::dQ_accum) {
      count_piece(op);
    } else if (is_load && (is_by_keys(tensor) || layout_of(tensor) == TensorLayout::query_by_d)) {
      count_box(op);
    }
  }
}

void BoxCounter::count_box(const TileOp& load) {
  const Tile& loaded = load.source_tiles[0];
  const Shape tile = grid().shape(loaded);
  const Index box_rows =
      is_by_keys(loaded.tensor) ? grid().slot_shape(loaded).rows : boxes_.query_rows;
  const Index elements = rounded_up(tile.rows, box_rows) * rounded_up(tile.cols, boxes_.columns);
  const Index requested = elements * element_bytes(loaded.tensor, grid().problem().dtype);
  of(BeyondTiles::boxes).read_bytes += requested - moved_bytes(load, grid());
}

void BoxCounter::count_piece(const TileOp& op) {
  constexpr Index kPieceRows = 16;
  const bool is_load = op.kind == OpKind::load;
  const Tile& tile = is_load ? op.source_tiles[0] : op.dest_tiles[0];
  const Index rows = grid().shape(tile).rows, in_last_piece = rows % kPieceRows;
  if (in_last_piece == 0) return;
  const Index row_bytes = moved_bytes(op, grid()) / rows;
  const Index unused = kPieceRows - in_last_piece;
  if (is_load) {
    of(BeyondTiles::pieces).read_bytes += std::min(unused, in_last_piece) * row_bytes;
  } else if (op.kind == OpKind::store) {
    of(BeyondTiles::pieces).write_bytes += unused * row_bytes;
  } else {
    of(BeyondTiles::added_pieces) += {0, unused * row_bytes, unused * row_bytes};
  }
}

}  // namespace attnscope
