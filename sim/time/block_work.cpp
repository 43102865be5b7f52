#include "sim/time/block_work.h"

#include "sim/observers/traffic_counter.h"

namespace attnscope {

void BlockWorkRecorder::begin_launch(std::string_view /*name*/, const TileGrid& grid) {
  grid_ = &grid;
  launches_.emplace_back();
}

void BlockWorkRecorder::begin_block(const BlockId& /*block*/) {
  launches_.back().emplace_back();
}

/// Whether an operation on a tile of scores is the first of its step, which has one for each share.
static bool is_first_share(const TileOp& op, const TileGrid& grid) {
  return grid.share_of(op.dest_tiles[0]).number == 0;
}

/// Whether no earlier share of the step has masked scores: such a share counts the step.
static bool is_first_masked(const TileOp& op, const TileGrid& grid) {
  Tile S = op.dest_tiles[0];
  for (TileShare share = grid.share_of(S); share.number > 0;) {
    --share.number;
    S.part = share.part();
    if (grid.edge(S)) return false;
  }
  return true;
}

void BlockWorkRecorder::observe(std::span<const TileOp> ops) {
  BlockWork& work = launches_.back().back();
  for (const TileOp& op : ops) {
    if (op.kind == OpKind::scores) {
      if (!is_first_share(op, *grid_)) continue;
      if (work.steps == 0) work.first_bytes = work.read_bytes;
      ++work.steps;
      work.last_bytes = 0;
    } else if (op.kind == OpKind::mask) {
      if (is_first_masked(op, *grid_)) ++work.masked_steps;
    } else if (op.moves_bytes()) {
      const Index bytes = moved_bytes(op, *grid_);
      if (op.kind != OpKind::load) {
        work.written_bytes += bytes;
        work.last_bytes += bytes;
      } else {
        work.read_bytes += bytes;
        if (op.source_tiles[0].tensor == Tensor::K) ++work.column_loads;
      }
    }
  }
}

}  // namespace attnscope
