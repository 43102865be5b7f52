#include "sim/time/block_work.h"

#include <algorithm>

#include "sim/observers/traffic_counter.h"

namespace attnscope {

void BlockWorkRecorder::begin_launch(std::string_view /*name*/, const TileGrid& grid) {
  grid_ = &grid;
  launches_.emplace_back();
}

void BlockWorkRecorder::begin_block(const BlockId& /*block*/) {
  launches_.back().emplace_back();
}

/// Whether an operation on a tile of scores is the first of its step, which has one per share.
static bool is_first_share(const TileOp& op, const TileGrid& grid) {
  return grid.share_of(op.dest_tiles[0]).number == 0;
}

/// Whether no earlier share of the step has masked scores; if one has, it has already counted the
/// step.
static bool is_first_masked(const TileOp& op, const TileGrid& grid) {
  Tile S = op.dest_tiles[0];
  for (TileShare share = grid.share_of(S); share.number > 0;) {
    --share.number;
    S.part = share.part();
    if (grid.edge(S)) return false;
  }
  return true;
}

/// Counts the consumers that mask a step's scores, and those whose rows see neither its keys nor
/// any later ones.
void BlockWorkRecorder::count_consumers(const Tile& S, BlockWork& work) {
  const AttentionProblem& problem = grid_->problem();
  const Index batch = grid_->batch();
  const Index rows = grid_->tiling().Br / consumers_;
  const Index past_last_row = grid_->row_begin(S.i) + grid_->rows_of(S.i);
  if (grid_->edge(S)) ++cut_steps_;
  Index masking = 0;
  for (Index consumer = 0; consumer < consumers_; ++consumer) {
    const Index first = grid_->row_begin(S.i) + consumer * rows;
    const Index last = std::min(first + rows, past_last_row) - 1;
    if (last < first || problem.keys_of(last, batch).end <= grid_->col_begin(S.j)) {
      ++work.left_out;
    } else if (problem.keys_of(first, batch).end < (S.j + 1) * grid_->tiling().Bc) {
      ++masking;
    }
  }
  work.masked_steps += static_cast<double>(masking) / static_cast<double>(consumers_);
}

void BlockWorkRecorder::observe(std::span<const TileOp> ops) {
  BlockWork& work = launches_.back().back();
  for (const TileOp& op : ops) {
    if (op.kind == OpKind::scores) {
      if (!is_first_share(op, *grid_)) continue;
      if (work.steps == 0) work.first_bytes = work.read_bytes;
      ++work.steps;
      work.last_bytes = 0;
      if (consumers_ > 1) count_consumers(op.dest_tiles[0], work);
    } else if (op.kind == OpKind::mask) {
      if (consumers_ == 1 && is_first_masked(op, *grid_)) work.masked_steps += 1;
    } else if (op.moves_bytes()) {
      const Index bytes = moved_bytes(op, *grid_);
      if (op.kind != OpKind::load) {
        work.written_bytes += bytes;
        work.last_bytes += bytes;
      } else {
        work.read_bytes += bytes;
        if (op.source_tiles[0].tensor == Tensor::K) ++work.column_loads;
        if (op.source_tiles[0].tensor == Tensor::Q && work.steps == 0) work.query_bytes += bytes;
      }
    }
  }
}

/// The bytes before the first step belong to no other step, and of two equal tiles that the mask
/// cuts, each consumer may see different parts.
bool BlockWorkRecorder::repeatable() const {
  const auto& [before, cut_before] = marks_.back();
  const BlockWork& work = launches_.back().back();
  return work.steps == before.steps || (before.steps > 0 && cut_steps_ == cut_before);
}

void BlockWorkRecorder::repeat(Index times) {
  BlockWork& work = launches_.back().back();
  const BlockWork before = marks_.back().work;
  marks_.pop_back();
  for (Index BlockWork::*count :
       {&BlockWork::steps, &BlockWork::left_out, &BlockWork::column_loads, &BlockWork::query_bytes,
        &BlockWork::read_bytes, &BlockWork::written_bytes}) {
    work.*count += (work.*count - before.*count) * times;
  }
  work.masked_steps += (work.masked_steps - before.masked_steps) * static_cast<double>(times);
  // Another step begins these anew
  if (work.steps == before.steps) work.last_bytes += (work.last_bytes - before.last_bytes) * times;
}

}  // namespace attnscope
