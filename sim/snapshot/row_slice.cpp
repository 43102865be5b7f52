#include "sim/snapshot/row_slice.h"

#include <algorithm>
#include <limits>

namespace attnscope {

namespace {

bool is_of_keys(const Tile& tile) {
  const TensorLayout layout = layout_of(tile.tensor);
  return layout == TensorLayout::key_by_d || layout == TensorLayout::group_key_by_d;
}

}  // namespace

RowSlice::RowSlice(const RecordedRun& run) : run_(run) {
  const RunInfo& info = *run.info;
  if (info.pass_kind() != PassKind::backward) return;
  forward_ = std::make_unique<RunInfo>();
  forward_->algorithm = info.algorithm;
  forward_->options = without_break(info.options);
  forward_->batch = info.batch;
  forward_->head = info.head;
  forward_->pass = make_pass(*info.algorithm, PassKind::forward, forward_->options);
  for (const Launch& launch : forward_->pass.launches) {
    forward_->grids.push_back(launch.grid(info.problem(), info.tiling(), forward_->options));
    forward_->grids.back().set_batch(info.batch);
  }
}

RowRange RowSlice::aligned(RowRange rows) const {
  constexpr int kMostRounds = 8;
  const auto widen = [&](const RunInfo& info) {
    for (const TileGrid& grid : info.grids) {
      const Index Br = grid.tiling().Br;
      rows = {rows.begin / Br * Br, std::min(ceil_div(rows.end, Br) * Br, run_.shown_problem.N)};
    }
  };
  for (int round = 0; round < kMostRounds; ++round) {
    const RowRange before = rows;
    widen(*run_.info);
    if (forward_) widen(*forward_);
    if (rows == before) break;
  }
  return rows;
}

/// Whether a thread block may process the rows; false only if its number rules this out.
bool RowSlice::touches_rows(const RunInfo& run, std::size_t launch, Index block) const {
  const Launch& of = run.pass.launches[launch];
  const TileGrid& grid = run.grids[launch];
  Index i = 0;
  if (of.blocks_per_head == block_per_row_tile) {
    i = block / grid.d_parts();
  } else if (of.blocks_per_head == block_per_tile) {
    i = block / grid.Tc();
  } else if (of.splits == SplitRole::one_a_block) {
    i = block / run.options.splits;
  } else {
    return true;
  }
  const Index begin = grid.row_begin(static_cast<std::int32_t>(i));
  return rows_.meets({begin, begin + grid.rows_of(static_cast<std::int32_t>(i))});
}

void RowSlice::execute(const TileOp& op, const TileGrid& grid, Follow follow) {
  if (follow != Follow::nothing) softmax_.before(op, grid, *executor_);
  if (follow == Follow::both) gradients_.before(op, grid, *executor_);
  executor_->execute(op);
  if (follow != Follow::nothing) softmax_.after(op, grid, *executor_);
  if (follow == Follow::both) gradients_.after(op, grid, *executor_);
}

/// Executes the operation if it processes the rows; executes loads of keys only when they are used.
void RowSlice::take(const TileOp& op, const TileGrid& grid, Follow follow) {
  const Tile& dest = op.dest_tiles[0];
  if (is_of_keys(dest)) {
    const bool is_input = dest.tensor == Tensor::K || dest.tensor == Tensor::V;
    if (is_input) loads_.push_back(op);
    return;  // the others sum over row tiles
  }
  if (!rows_of(op, grid).meets(rows_)) return;
  for (const TileOp& load : loads_) executor_->execute(load);
  loads_.clear();
  execute(op, grid, follow);
}

/// The backward pass starts from the state after an unbroken forward pass.
void RowSlice::run_forward_pass() {
  const NumericRules rules = executor_->rules();
  executor_->set_rules(without_break(rules));
  executor_->set_initial_values(forward_->pass.initial_values);
  for (std::size_t launch = 0; launch < forward_->pass.launches.size(); ++launch) {
    const TileGrid& grid = forward_->grids[launch];
    executor_->set_grid(grid);
    const Index blocks = forward_->pass.launches[launch].blocks_per_head(grid);
    for (Index block = 0; block < blocks; ++block) {
      if (!touches_rows(*forward_, launch, block)) continue;
      executor_->begin_block({run_.info->batch, run_.info->head, block});
      loads_.clear();
      regenerate(*forward_, {launch, block, 0, std::numeric_limits<Index>::max()},
                 [&](Index /*local*/, const TileOp& op) {
                   take(op, grid, Follow::nothing);
                   return true;
                 });
    }
  }
  executor_->set_rules(rules);
}

void RowSlice::restart(const RowRange& rows, Index query, Index column) {
  rows_ = rows;
  step_ = -1;
  query_ = query;
  column_ = column;
  softmax_ = SoftmaxTracker(query, column);
  gradients_ = GradientTracker(query, column);
  loads_.clear();
  executor_ = std::make_unique<NumericExecutor>(run_.shown_problem, run_.inputs,
                                                numeric_rules(run_.info->resolved().asked));
  executor_->keep_score_rows(rows.begin, rows.end);
  executor_->begin_head(0, 0, run_.info->pass.initial_values);
  if (forward_) run_forward_pass();
}

void RowSlice::move_to(Index step, const RowRange& rows, Index query, Index column) {
  const bool goes_on = executor_ && rows == rows_ && query == query_ && column == column_;
  if (!goes_on || step < step_) restart(rows, query, column);
  const RunInfo& info = *run_.info;
  const auto& blocks = run_.blocks;
  auto block =
      std::ranges::upper_bound(blocks, std::max<Index>(step_ + 1, 0), {}, &BlockStart::first_step) -
      1;
  for (; block != blocks.end() && block->first_step <= step; ++block) {
    const auto launch = static_cast<std::size_t>(block->launch);
    const TileGrid& grid = info.grids[launch];
    if (block->first_step > step_) {
      executor_->set_grid(grid);
      executor_->begin_block({info.batch, info.head, block->block});
      loads_.clear();
      softmax_ = SoftmaxTracker(query, column);
      gradients_ = GradientTracker(query, column);
    }
    if (!touches_rows(info, launch, block->block)) continue;
    const Follow follow = launch >= info.first_backward ? Follow::both : Follow::softmax;
    const Index begin = std::max(step_ + 1, block->first_step) - block->first_step;
    const Index end = step + 1 - block->first_step;
    regenerate(info, {launch, block->block, begin, end}, [&](Index /*local*/, const TileOp& op) {
      take(op, grid, follow);
      return true;
    });
  }
  for (const TileOp& load : loads_) executor_->execute(load);  // those of the displayed step
  loads_.clear();
  step_ = std::max(step_, step);
}

}  // namespace attnscope
