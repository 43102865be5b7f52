#include "sim/observers/traffic_counter.h"

namespace attnscope {

Bytes sum(const BytesByTensor& bytes) {
  Bytes total;
  for (const Bytes& tensor : bytes) total += tensor;
  return total;
}

Index moved_bytes(const TileOp& op, const TileGrid& grid) {
  if (!op.moves_bytes()) return 0;
  const Tile& hbm = op.kind == OpKind::load ? op.source_tiles[0] : op.dest_tiles[0];
  return grid.shape(hbm).elems() * element_bytes(hbm.tensor, grid.problem().dtype);
}

void TrafficCounter::begin_launch(std::string_view name, const TileGrid& grid) {
  grid_ = &grid;
  launches_.push_back({std::string(name), {}});
}

void TrafficCounter::observe(std::span<const TileOp> ops) {
  BytesByTensor& by_tensor = launches_.back().by_tensor;
  for (const TileOp& op : ops) {
    if (op.kind == OpKind::load) {
      of(by_tensor, op.source_tiles[0].tensor).read_bytes += moved_bytes(op, *grid_);
    } else if (op.kind == OpKind::store) {
      of(by_tensor, op.dest_tiles[0].tensor).write_bytes += moved_bytes(op, *grid_);
    }
  }
}

}  // namespace attnscope
