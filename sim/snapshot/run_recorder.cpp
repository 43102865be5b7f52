#include "sim/snapshot/run_recorder.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "sim/snapshot/describe_op.h"
#include "sim/snapshot/row_trackers.h"

namespace attnscope {

namespace {

/// The largest number of operations between keyframes, which keeps replay fast even without values.
constexpr Index kMaxOpsBetweenKeyframes = 16384;

}  // namespace

void HeadCounters::begin_block() {
  for (WarpTally& tally : warps) tally.begin_block();
}

void HeadCounters::add(const TileOp& op, const TileGrid& grid) {
  if (has_warps) {
    for (WarpTally& tally : warps) tally.add(op, grid);
  }
  flops += flops_of(op, grid);
  count_moved(op, grid, bytes);
}

void RunRecorder::begin_launch(std::string_view name, const TileGrid& grid) {
  grid_ = &grid;
  ++launch_;
  if (executor_ != nullptr) executor_->begin_launch(name, grid);
  info_.launches.push_back({step_, step_, std::string(name)});
  const auto launch = static_cast<std::size_t>(launch_);
  info_.line_operands.emplace_back(info_.pass.launches[launch].pseudo_code.size());
}

void RunRecorder::begin_block(const BlockId& block) {
  if (executor_ != nullptr) executor_->begin_block(block);
  history_.blocks.push_back({step_, launch_, block.block});
  counters_.begin_block();
  keep_keyframe(executor_ != nullptr && executor_->rules().stale_memory);
  seen_scores_ = false;
  const Launch& launch = info_.pass.launches[static_cast<std::size_t>(launch_)];
  outer_j_ = -1;
  // With one block per head, the column tiles are the outer loop: note_outer()
  if (launch.blocks_per_head != block_per_head) begin_outer(block_label(launch, block.block));
}

/// The tile of a thread block: "i = 2", "j = 0", "i = 1, j = 3", "i = 0, split 2"; in a launch over
/// whole rows, whose groups are not tiles of the other launches, "rows 8-15".
std::string RunRecorder::block_label(const Launch& launch, Index block) const {
  if (launch.blocks_per_head == block_per_column_tile) return fmt::format("j = {}", block);
  if (launch.blocks_per_head == block_per_tile) {
    return fmt::format("i = {}, j = {}", block / grid_->Tc(), block % grid_->Tc());
  }
  if (launch.splits == SplitRole::one_a_block) {
    const Index splits = info_.options.splits;
    return fmt::format("i = {}, split {}", block / splits, block % splits);
  }
  return row_tile_name(launch, *grid_, block);
}

void RunRecorder::begin_outer(std::string label) {
  if (!info_.outer.empty()) info_.outer.back().end = step_;
  info_.outer.push_back({step_, step_, std::move(label)});
}

/// In a launch of one thread block per head (flash1), records the outer loop's column tiles.
void RunRecorder::note_outer(const TileOp& op) {
  const Launch& launch = info_.pass.launches[static_cast<std::size_t>(launch_)];
  const Tile& tile = op.dest_tiles[0];
  if (launch.blocks_per_head != block_per_head || tile.j == outer_j_) return;
  if (layout_of(tile.tensor) != TensorLayout::key_by_d) return;
  outer_j_ = tile.j;
  begin_outer(fmt::format("j = {}", tile.j));
}

void RunRecorder::note_line(const TileOp& op) {
  LineOperands& line = info_.line_operands.back()[op.line];
  const auto note = [&](const Tile& tile) {
    line.all.set(static_cast<std::size_t>(tile.tensor));
    if (!tile.on_chip()) line.in_memory.set(static_cast<std::size_t>(tile.tensor));
  };
  std::ranges::for_each(op.dests(), note);
  std::ranges::for_each(op.sources(), note);
  if (op.agent == Agent::block) return;
  const Agent agent = is_consumer(op.agent) ? Agent::consumer : op.agent;
  const bool is_known = std::ranges::find(line.agents, agent) != line.agents.end();
  if (!is_known) line.agents.push_back(agent);
}

void RunRecorder::deadlock(std::span<const StuckAgent> stuck) {
  if (info_.deadlock) return;
  info_.deadlock = {step_,
                    static_cast<std::size_t>(launch_),
                    history_.blocks.back().block,
                    {stuck.begin(), stuck.end()}};
}

void RunRecorder::note_score_tile(const Tile& tile) {
  if (!is_score(tile.tensor)) return;
  // Tiles of other grids (whole rows of a softmax launch) count for every tile that they overlap
  const Shape origin = grid_->origin(tile);
  const Shape shape = grid_->shape(tile);
  const Tiling& tiling = info_.tiling();
  for (Index i = origin.rows / tiling.Br; i * tiling.Br < origin.rows + shape.rows; ++i) {
    for (Index j = origin.cols / tiling.Bc; j * tiling.Bc < origin.cols + shape.cols; ++j) {
      TileLife& life = info_.score_tiles[static_cast<std::size_t>(i * info_.Tc + j)];
      if (life.first < 0) life.first = static_cast<std::int32_t>(step_);
      life.last = static_cast<std::int32_t>(step_);
    }
  }
}

/// Records the first step at which values of S, P, dP or dS are on chip. Standard attention
/// computes P in place of S, and dS in place of dP.
void RunRecorder::note_score_values(const TileOp& op) {
  const Tile& dest = op.dest_tiles[0];
  if (!dest.on_chip() || !is_score(dest.tensor)) return;
  const Tensor made = op.kind == OpKind::exp                ? Tensor::P
                      : op.kind == OpKind::softmax_gradient ? Tensor::dS
                                                            : dest.tensor;
  const auto place = std::ranges::find(kScoreTensors, made);
  if (place == kScoreTensors.end()) return;
  ScoreMatrix& matrix =
      info_.score_matrices[static_cast<std::size_t>(place - kScoreTensors.begin())];
  matrix.complete_from = std::max(matrix.complete_from, 0);
  if (matrix.first_steps.empty()) return;
  const Shape origin = grid_->origin(dest);
  const Shape shape = grid_->shape(dest);
  const Index rows = matrix.group_rows;
  const Index Bc = info_.tiling().Bc;
  for (Index g = origin.rows / rows; g * rows < origin.rows + shape.rows; ++g) {
    for (Index j = origin.cols / Bc; j * Bc < origin.cols + shape.cols; ++j) {
      std::int32_t& first = matrix.first_steps[static_cast<std::size_t>(g * info_.Tc + j)];
      if (first >= 0) continue;
      first = matrix.complete_from = static_cast<std::int32_t>(step_);
    }
  }
}

void RunRecorder::note_rows(const TileOp& op) {
  const RowRange rows = rows_of(op, *grid_);
  if (rows.end == rows.begin) return;
  const auto now = static_cast<std::int32_t>(step_);
  RowVisits& visits = history_.rows;
  const Index past = ceil_div(rows.end, visits.group_rows);
  for (Index g = rows.begin / visits.group_rows; g < past; ++g) {
    // Loads of keys in between do not end a range
    std::vector<StepRange>& ranges = visits.ranges[static_cast<std::size_t>(g)];
    const bool goes_on = !ranges.empty() && ranges.back().end == rows_end_;
    if (goes_on) ranges.back().end = now + 1;
    if (!goes_on) ranges.push_back({now, now + 1});
  }
  rows_end_ = now + 1;
}

Index RowVisits::last(Index row, Index step) const {
  const std::vector<StepRange>& all = ranges[static_cast<std::size_t>(row / group_rows)];
  const auto past = std::ranges::upper_bound(all, step, {}, &StepRange::begin);
  return past == all.begin() ? -1 : std::min<Index>(step, std::prev(past)->end - 1);
}

void RunRecorder::note_store(const TileOp& op) {
  const Tile& tile = op.dest_tiles[0];
  const Shape whole = tensor_shape(tile.tensor, info_.problem(), info_.options.splits);
  StoreHistory& history = history_.stores[static_cast<std::size_t>(tile.tensor)];
  if (history.tile_rows == 0) {
    const Shape slot = grid_->slot_shape(tile);
    history.tile_rows = std::min(slot.rows, whole.rows);
    history.tile_cols = std::min(slot.cols, whole.cols);
    history.first_store.assign(static_cast<std::size_t>(ceil_div(whole.rows, history.tile_rows) *
                                                        ceil_div(whole.cols, history.tile_cols)),
                               -1);
  }
  const Shape origin = grid_->origin(tile);
  const Index cols = ceil_div(whole.cols, history.tile_cols);
  const auto index = static_cast<std::size_t>(origin.rows / history.tile_rows * cols +
                                              origin.cols / history.tile_cols);
  std::int32_t& first = history.first_store[index];
  if (first < 0) first = static_cast<std::int32_t>(step_);
  if (op.kind == OpKind::atomic_add) {
    history.adds.resize(history.first_store.size());
    history.adds[index].push_back({static_cast<std::int32_t>(step_),
                                   static_cast<std::int32_t>(history_.blocks.back().block)});
  }
  if (executor_ == nullptr) return;
  const Shape shape = grid_->shape(tile);
  history_.journal.append(
      step_, tile.tensor, origin,
      executor_->hbm(tile.tensor).block(origin.rows, origin.cols, shape.rows, shape.cols));
}

void RunRecorder::keep_keyframe(bool with_memory) {
  Keyframe& keyframe = history_.keyframes.emplace_back();
  keyframe.step = step_;
  keyframe.block_index = history_.blocks.size() - 1;
  keyframe.counters = counters_;
  if (with_memory && executor_ != nullptr) keyframe.on_chip = executor_->on_chip();
  flops_since_keyframe_ = 0;
  ops_since_keyframe_ = 0;
}

/// Whether the op, in a launch that computes no scores, loads a tile of S, P, dP or dS, or computes
/// one as a product.
bool RunRecorder::begins_tile_step(const TileOp& op) const {
  if (seen_scores_) return false;
  const bool tile = is_score(op.dest_tiles[0].tensor);
  return tile && (op.kind == OpKind::load || op.kind == OpKind::product_transposed);
}

void RunRecorder::note_tile_step() {
  info_.tile_steps.push_back(static_cast<std::int32_t>(step_));
  info_.tile_bytes.push_back(sum(counters_.bytes).total());
}

void RunRecorder::observe(std::span<const TileOp> ops) {
  for (const TileOp& op : ops) {
    // A tile step begins with its scores, or in a launch without scores with its first load
    if (op.kind == OpKind::scores) {
      seen_scores_ = true;
      note_tile_step();
      const bool due = executor_ != nullptr ? flops_since_keyframe_ > keyframe_flops_
                                            : ops_since_keyframe_ > kMaxOpsBetweenKeyframes;
      if (due) keep_keyframe(true);
    } else if (begins_tile_step(op)) {
      note_tile_step();
    }
    note_outer(op);
    note_line(op);
    for (const Tile& tile : op.dests()) note_score_tile(tile);
    for (const Tile& tile : op.sources()) note_score_tile(tile);
    note_score_values(op);
    note_rows(op);
    if (executor_ != nullptr) executor_->execute(op);
    const bool stores = op.kind == OpKind::store || op.kind == OpKind::atomic_add;
    if (stores && !op.skipped) note_store(op);
    counters_.add(op, *grid_);
    flops_since_keyframe_ += static_cast<double>(flops_of(op, *grid_).matmul);
    ++ops_since_keyframe_;
    ++step_;
  }
  info_.step_count = step_;
  if (!info_.outer.empty()) info_.outer.back().end = step_;
}

std::array<double, kTensorCount> Journal::not_a_number() {
  std::array<double, kTensorCount> values{};
  values.fill(std::numeric_limits<double>::quiet_NaN());
  return values;
}

void Journal::set_initial_value(Tensor tensor, double value) {
  initial_[static_cast<std::size_t>(tensor)] = value;
}

std::ptrdiff_t& Journal::last_at(Tensor tensor, const Shape& origin) {
  auto& last = last_[static_cast<std::size_t>(tensor)];
  const Index key = (origin.rows << 32) + origin.cols;
  const auto place = std::ranges::lower_bound(last, key, {}, [](const auto& e) { return e.first; });
  if (place != last.end() && place->first == key) return place->second;
  return last.insert(place, {key, -1})->second;
}

void Journal::append(Index step, Tensor tensor, const Shape& origin, const RowMatrix& values) {
  std::ptrdiff_t& last = last_at(tensor, origin);
  entries_.push_back({step, tensor, origin, {values.rows(), values.cols()}, last, values_.size()});
  last = static_cast<std::ptrdiff_t>(entries_.size()) - 1;
  values_.insert(values_.end(), values.data(), values.data() + values.size());
}

void Journal::apply(const Entry& entry, RowMatrix& tensor) const {
  tensor.block(entry.origin.rows, entry.origin.cols, entry.shape.rows, entry.shape.cols) =
      Eigen::Map<const RowMatrix>(values_.data() + entry.offset, entry.shape.rows,
                                  entry.shape.cols);
}

void Journal::undo(const Entry& entry, RowMatrix& tensor) const {
  if (entry.previous >= 0) {
    apply(entries_[static_cast<std::size_t>(entry.previous)], tensor);
    return;
  }
  tensor.block(entry.origin.rows, entry.origin.cols, entry.shape.rows, entry.shape.cols)
      .setConstant(initial_[static_cast<std::size_t>(entry.tensor)]);
}

std::size_t Journal::count_until(Index step) const {
  const auto past = std::ranges::upper_bound(entries_, step, {}, &Entry::step);
  return static_cast<std::size_t>(past - entries_.begin());
}

void Journal::move(Index from, Index to, NumericExecutor& executor) const {
  const std::size_t begin = count_until(from);
  const std::size_t end = count_until(to);
  for (std::size_t index = begin; index < end; ++index) {
    apply(entries_[index], executor.hbm(entries_[index].tensor));
  }
  for (std::size_t index = begin; index > end; --index) {
    undo(entries_[index - 1], executor.hbm(entries_[index - 1].tensor));
  }
}

}  // namespace attnscope
