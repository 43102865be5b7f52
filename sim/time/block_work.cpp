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

void BlockWorkRecorder::observe(std::span<const TileOp> ops) {
  BlockWork& work = launches_.back().back();
  for (const TileOp& op : ops) {
    if (op.kind == OpKind::scores) {
      if (work.steps == 0) work.first_bytes = work.read_bytes;
      ++work.steps;
      work.last_bytes = 0;
    } else if (op.kind == OpKind::mask) {
      ++work.masked_steps;
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
