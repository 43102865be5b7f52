#include "sim/observers/traffic_counter.h"

#include <algorithm>

namespace attnscope {

Bytes sum(const BytesByTensor& bytes) {
  Bytes total;
  for (const Bytes& tensor : bytes) total += tensor;
  return total;
}

Index moved_bytes(const TileOp& op, const TileGrid& grid) {
  if (!op.moves_bytes()) return 0;
  const Tile& hbm = op.kind == OpKind::load ? op.source_tiles[0] : op.dest_tiles[0];
  Shape moved = grid.shape(hbm);
  if (op.kind == OpKind::load && grid.options().skips_padded_keys &&
      (hbm.tensor == Tensor::K || hbm.tensor == Tensor::V)) {
    moved.rows = std::clamp<Index>(grid.key_end() - grid.col_begin(hbm.j), 0, moved.rows);
  }
  return moved.elems() * element_bytes(hbm.tensor, grid.problem().dtype);
}

void count_moved(const TileOp& op, const TileGrid& grid, BytesByTensor& by_tensor) {
  if (!op.moves_bytes()) return;
  const Index moved = moved_bytes(op, grid);
  const bool is_load = op.kind == OpKind::load;
  Bytes& bytes = of(by_tensor, (is_load ? op.source_tiles[0] : op.dest_tiles[0]).tensor);
  if (is_load) {
    bytes += {moved, 0, 0};
  } else {
    bytes += {0, moved, op.kind == OpKind::atomic_add ? moved : 0};
  }
}

void TrafficCounter::observe(std::span<const TileOp> ops) {
  for (const TileOp& op : ops) count_moved(op, grid(), counts());
}

}  // namespace attnscope
