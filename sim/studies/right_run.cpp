#include "sim/studies/right_run.h"

#include <utility>

namespace attnscope {

void RightRun::begin_launch(std::string_view name, const TileGrid& grid) {
  grid_ = &grid;
  executor_.begin_launch(name, grid);
  launch_ = &pass_.launches[launch_count_++];
}

void RightRun::begin_block(const BlockId& block) {
  executor_.begin_block(block);
  in_advance_.clear();
  if (!launch_->by_agents()) return;
  Observer* const observers[] = {this};
  Program program(observers);
  program.begin_block(block);
  launch_->run(*grid_, block.block, program);
}

void RightRun::observe(std::span<const TileOp> ops) {
  for (const TileOp& op : ops) in_advance_[op.agent].push_back(executed(op));
}

RightResult RightRun::result_of(const TileOp& op) {
  if (!launch_->by_agents()) {
    TileOp whole = op;
    whole.skipped = false;
    return executed(whole);
  }
  std::deque<RightResult>& results = in_advance_[op.agent];
  RightResult result = std::move(results.front());
  results.pop_front();
  return result;
}

HeldTile RightRun::held(const Tile& tile) const {
  if (tile.on_chip()) {
    auto values = executor_.held(tile);
    return values ? HeldTile{true, *std::move(values)} : HeldTile{};
  }
  const RowMatrix& tensor = executor_.hbm(tile.tensor);
  if (tensor.size() == 0) return {};
  const Shape shape = grid_->shape(tile), origin = grid_->origin(tile);
  return {true, tensor.block(origin.rows, origin.cols, shape.rows, shape.cols)};
}

RightResult RightRun::executed(const TileOp& op) {
  RightResult result;
  if (op.dest_count > 0) result.before = held(op.dest_tiles[0]);
  executor_.execute(op);
  for (std::size_t k = 0; k < op.dest_count; ++k) result.after[k] = held(op.dest_tiles[k]);
  return result;
}

}  // namespace attnscope
