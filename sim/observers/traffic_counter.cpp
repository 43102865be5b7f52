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

void count_write(const TileOp& op, const TileGrid& grid, BytesByTensor& by_tensor) {
  Bytes& bytes = of(by_tensor, op.dest_tiles[0].tensor);
  const Index moved = moved_bytes(op, grid);
  bytes += {0, moved, op.kind == OpKind::atomic_add ? moved : 0};
}

void TrafficCounter::observe(std::span<const TileOp> ops) {
  for (const TileOp& op : ops) {
    if (op.kind == OpKind::load) {
      of(counts(), op.source_tiles[0].tensor) += {moved_bytes(op, grid()), 0, 0};
    } else if (op.moves_bytes()) {
      count_write(op, grid(), counts());
    }
  }
}

}  // namespace attnscope
