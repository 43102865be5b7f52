#include "sim/snapshot/stepped_run.h"

#include <algorithm>
#include <cmath>

#include "reference/naive_attention.h"
#include "sim/schedule/schedules.h"
#include "sim/snapshot/describe_op.h"
#include "sim/snapshot/row_trackers.h"
#include "sim/snapshot/run_recorder.h"

namespace attnscope {

namespace {

constexpr Index kMostLookedAhead = 16;      // limit of the search for the next tile
constexpr Index kMostLookedBack = 1 << 15;  // limit of the search for a slot's contents

}  // namespace

struct SteppedRun::Impl {
  explicit Impl(std::unique_ptr<RecordedRun> run)
      : recorded(std::move(run)),
        published(recorded->info),
        ops(*recorded->info, recorded->blocks),
        hbm_step(recorded->info->step_count - 1) {}

  std::unique_ptr<RecordedRun> recorded;
  std::shared_ptr<const RunInfo> published;  ///< the run's, as readers see it
  OpWindow ops;
  Index hbm_step;                                 ///< the executor's HBM is the one after this step
  std::shared_ptr<const SoftmaxMethods> methods;  ///< of the row requested last

  const RunInfo& info() const { return *recorded->info; }
  WarpsByPartition replay(Index step, HeadCounters& counters, SoftmaxTracker& softmax,
                          GradientTracker& gradients);
  void fill_position(Snapshot& snapshot, const BlockStart& block);
  void fill_slots(Snapshot& snapshot, const BlockStart& block);
  void find_contents(SlotState& slot, Index step, const BlockStart& block);
  Tensor held_tensor(const SlotState& slot, Index step, const BlockStart& block);
  void fill_adders(Snapshot& snapshot) const;
  void fill_softmax_methods(Snapshot& snapshot, Index query);
  Index first_key(const Snapshot& snapshot) const;
  void fill_softmax_row(Snapshot& snapshot, const SoftmaxTracker& tracker) const;
  const TileGrid& grid(int launch) const { return info().grids[static_cast<std::size_t>(launch)]; }
};

/// Executes from the keyframe before `step` up to and including `step`; returns the warps' counts
/// of that operation.
WarpsByPartition SteppedRun::Impl::replay(Index step, HeadCounters& counters,
                                          SoftmaxTracker& softmax, GradientTracker& gradients) {
  const auto past = std::ranges::upper_bound(recorded->keyframes, step, {}, &Keyframe::step);
  const Keyframe& keyframe = *(past - 1);
  const BlockStart& block = recorded->blocks[keyframe.block_index];
  const bool backward = static_cast<std::size_t>(block.launch) >= info().first_backward;
  counters = keyframe.counters;
  if (recorded->executor) {
    recorded->journal.move(hbm_step, keyframe.step - 1, *recorded->executor);
    recorded->executor->set_grid(grid(block.launch));
    recorded->executor->restore(keyframe.on_chip);
    hbm_step = step;
  }
  WarpsByPartition before{};
  for (Index s = keyframe.step; s <= step; ++s) {
    const TileOp& op = ops.at(s);
    const TileGrid& g = grid(block.launch);
    if (recorded->executor) {
      softmax.before(op, g, *recorded->executor);
      if (backward) gradients.before(op, g, *recorded->executor);
      recorded->executor->execute(op);
      softmax.after(op, g, *recorded->executor);
      if (backward) gradients.after(op, g, *recorded->executor);
    }
    if (s == step) before = counters.warp_traffic();
    counters.add(op, g);
  }
  const WarpsByPartition after = counters.warp_traffic();
  return {after[0] - before[0], after[1] - before[1]};
}

/// The row and column tile that the block's latest operations name, or else its next ones; a block
/// that names no column tile has none.
void SteppedRun::Impl::fill_position(Snapshot& snapshot, const BlockStart& block) {
  const Launch& launch = info().pass.launches[static_cast<std::size_t>(block.launch)];
  std::optional<std::int32_t> i, j, split;
  if (launch.splits == SplitRole::one_a_block) {
    split = static_cast<std::int32_t>(block.block % info().options.splits);
  }
  const auto look_at = [&](const Tile& tile) {
    switch (layout_of(tile.tensor)) {
      case TensorLayout::key_by_d:
      case TensorLayout::group_key_by_d:
        if (!j) j = tile.j;
        return;
      case TensorLayout::query_by_key:
        if (!j) j = tile.j;
        break;
      case TensorLayout::query_by_split_d:
      case TensorLayout::query_by_split:
        if (!split) split = tile.j;
        break;
      case TensorLayout::query_by_d:
      case TensorLayout::query_by_one:
        break;
    }
    if (!i) i = tile.i;
  };
  const auto known = [&] {
    return i && (launch.splits == SplitRole::folded ? split.has_value() : j.has_value());
  };
  const auto look_at_op = [&](Index s) {
    const TileOp op = ops.at(s);
    for (const Tile& tile : op.dests()) look_at(tile);
    for (const Tile& tile : op.sources()) look_at(tile);
  };
  // In a block with an outer loop, earlier operations may belong to another iteration
  const Index here = std::max<Index>(snapshot.step, 0);
  const auto after = std::ranges::upper_bound(info().outer, here, {}, &StepSpan::begin);
  const Index first = std::max(block.first_step,
                               after == info().outer.begin() ? Index{0} : std::prev(after)->begin);
  for (Index s = here; s >= first && !known(); --s) look_at_op(s);
  const Index past = std::min(ops.block_end(block), here + kMostLookedAhead);
  for (Index s = here + 1; s < past && !known(); ++s) look_at_op(s);
  snapshot.i = i.value_or(0);
  snapshot.j = j.value_or(kAllColumns);
  snapshot.split = split.value_or(-1);
}

/// The contents of a slot without an executor, from the last operation that touched the slot.
void SteppedRun::Impl::find_contents(SlotState& slot, Index step, const BlockStart& block) {
  const auto is_this = [&](const Tile& tile) {
    return tile.tensor == slot.tensor && tile.slot == slot.slot;
  };
  const Index farthest = std::max(block.first_step, step - kMostLookedBack);
  for (Index s = step; s >= farthest; --s) {
    const TileOp op = ops.at(s);
    for (const Tile& tile : op.dests()) {
      if (!is_this(tile)) continue;
      slot.valid = true;
      slot.tile = tile;
      return;
    }
    for (const Tile& tile : op.sources()) {
      if (!is_this(tile)) continue;
      slot.valid = !tile.last_use;
      slot.tile = tile;
      return;
    }
  }
}

/// The tensor whose values are in a slot: standard attention computes P in place of S, and dS in
/// place of dP.
Tensor SteppedRun::Impl::held_tensor(const SlotState& slot, Index step, const BlockStart& block) {
  if (slot.tensor != Tensor::S && slot.tensor != Tensor::dP) return slot.tensor;
  bool dropped = false;
  const Index farthest = std::max(block.first_step, step - kMostLookedBack);
  for (Index s = step; s >= farthest; --s) {
    const TileOp op = ops.at(s);
    const Tile& dest = op.dest_tiles[0];
    if (dest.tensor != slot.tensor || dest.slot != slot.slot) continue;
    switch (op.kind) {
      case OpKind::exp:
        return dropped ? Tensor::P_drop : Tensor::P;
      case OpKind::softmax_gradient:
        return Tensor::dS;
      case OpKind::dropout:
        dropped = true;
        break;
      case OpKind::load:
      case OpKind::scores:
      case OpKind::product_transposed:
        return slot.tensor;
      default:
        break;  // changes the values, not their tensor
    }
  }
  return slot.tensor;
}

void SteppedRun::Impl::fill_slots(Snapshot& snapshot, const BlockStart& block) {
  const LaunchOccupancy& uses = recorded->occupancy[static_cast<std::size_t>(snapshot.launch)];
  for (const SlotUse& use : uses.slots) {
    SlotState state;
    state.tensor = use.tensor;
    state.slot = use.slot;
    state.space = use.space;
    state.capacity = use.capacity;
    state.capacity_bytes = use.bytes;
    if (!recorded->executor && snapshot.step >= 0) {
      find_contents(state, snapshot.step, block);
    } else if (snapshot.step >= 0) {
      const NumericExecutor::Slot& slot =
          recorded->executor->on_chip()[static_cast<std::size_t>(use.tensor)][use.slot - 1U];
      state.valid = slot.valid;
      if (slot.valid) {
        state.tile = slot.tile;
        state.values = value_tile(slot.values);
      }
    }
    if (state.valid) state.tile.tensor = held_tensor(state, snapshot.step, block);
    snapshot.slots.push_back(std::move(state));
  }
}

/// The thread blocks that have added to the current row tile of dQ.
void SteppedRun::Impl::fill_adders(Snapshot& snapshot) const {
  const auto& adds = recorded->stores[static_cast<std::size_t>(Tensor::dQ_accum)].adds;
  const GradientRow& row = snapshot.gradient_row;
  const auto tile = static_cast<std::size_t>(row.known ? row.i : snapshot.i);
  if (tile >= adds.size()) return;
  for (const AddRecord& add : adds[tile]) {
    if (add.step <= snapshot.step) snapshot.adders.push_back(add.block);
  }
  snapshot.adders_whole = static_cast<std::int32_t>(adds[tile].size());
}

void SteppedRun::Impl::fill_softmax_methods(Snapshot& snapshot, Index query) {
  const ValueTile& scores = info().reference_scores;
  if (scores.values.empty() || scores.cols > kMaxComparedKeys) return;
  query = std::clamp<Index>(query, 0, scores.rows - 1);
  if (methods == nullptr || methods->query != query) {
    const std::span<const double> all(scores.values);
    const auto first = static_cast<std::size_t>(query * scores.cols);
    methods = std::make_shared<const SoftmaxMethods>(softmax_methods(
        query, all.subspan(first, static_cast<std::size_t>(scores.cols)), info().tiling().Bc));
  }
  snapshot.softmax_methods = methods;
}

/// The first key of the thread block: a split of the keys begins where the one before it ends.
Index SteppedRun::Impl::first_key(const Snapshot& snapshot) const {
  if (snapshot.split < 0) return 0;
  const TileGrid& g = grid(snapshot.launch);
  return g.col_begin(column_tiles_of_split(g, snapshot.split).first);
}

void SteppedRun::Impl::fill_softmax_row(Snapshot& snapshot, const SoftmaxTracker& tracker) const {
  SoftmaxRow& row = snapshot.softmax_row;
  row = tracker.row();
  if (row.j < 0 || !tracker.consistent()) return;
  const KeyRange visible = recorded->shown_problem.keys_of(row.query);
  const KeyRange seen{first_key(snapshot), tracker.key_end()};
  row.keys_seen = 0;
  for (Index key = std::max(visible.begin, seen.begin); key < std::min(visible.end, seen.end);
       ++key)
    row.keys_seen += recorded->shown_problem.attends(row.query, key) ? 1 : 0;

  // Compare with attention over just the keys folded in so far
  const auto& O = recorded->executor->on_chip()[static_cast<std::size_t>(Tensor::O)][0];
  if (!O.valid || O.tile.i != row.i) return;
  const PartialRow reference =
      partial_forward(recorded->shown_problem, recorded->inputs, 0, 0, row.query, seen);
  const double divisor = tracker.normalized() || *row.l == 0.0 ? 1.0 : *row.l;
  double error = 0;
  for (Index c = 0; c < info().problem().d; ++c) {
    error = std::max(error, std::abs(O.values(row.row_in_tile, c) / divisor -
                                     reference.O[static_cast<std::size_t>(c)]));
  }
  row.error = error;
}

SteppedRun::SteppedRun(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SteppedRun::~SteppedRun() = default;

const std::shared_ptr<const RunInfo>& SteppedRun::info() const {
  return impl_->published;
}

Result<std::unique_ptr<SteppedRun>> SteppedRun::create(const SteppedRequest& request,
                                                       const std::function<void(double)>& progress,
                                                       const std::atomic<bool>* cancel) {
  ATTNSCOPE_TRY(auto run, record_run(request, progress, cancel));
  return std::unique_ptr<SteppedRun>(new SteppedRun(std::make_unique<Impl>(std::move(run))));
}

Snapshot SteppedRun::at(Index step, Index query, Index O_column) {
  Impl& run = *impl_;
  const Index last = run.info().step_count - 1;
  step = std::clamp<Index>(step, -1, last);
  Snapshot snapshot;
  snapshot.run = run.published;
  snapshot.step = step;

  const BlockStart& block = run.ops.block_of(std::max<Index>(step, 0));
  const TileGrid& grid = run.grid(block.launch);
  snapshot.launch = block.launch;
  snapshot.block = block.block;
  const Index column = std::clamp<Index>(O_column, 0, run.info().problem().d - 1);
  GradientTracker gradients(std::max<Index>(query, 0), column);
  SoftmaxTracker tracker(std::max<Index>(query, 0), column);
  HeadCounters counters;
  if (step >= 0) {
    snapshot.op_warps = run.replay(step, counters, tracker, gradients);
    snapshot.op = run.ops.at(step);
    snapshot.op_bytes = moved_bytes(snapshot.op, grid);
    snapshot.what = describe_op(snapshot.op, grid);
    const Launch& launch = run.info().pass.launches[static_cast<std::size_t>(block.launch)];
    snapshot.why = launch.pseudo_code[snapshot.op.line].why;
  }
  if (step < last) {
    const BlockStart& next_block = run.ops.block_of(step + 1);
    snapshot.next_op = run.ops.at(step + 1);
    snapshot.next_op_bytes = moved_bytes(snapshot.next_op, run.grid(next_block.launch));
  }
  snapshot.bytes_so_far = counters.bytes;
  snapshot.matmul_flops_so_far = counters.flops.matmul;
  snapshot.other_flops_so_far = counters.flops.non_matmul;
  run.fill_position(snapshot, block);
  run.fill_slots(snapshot, block);
  snapshot.hbm = hbm_states(run.info(), run.recorded->stores, step);
  if (run.recorded->executor) run.fill_softmax_row(snapshot, tracker);
  run.fill_softmax_methods(snapshot, query);
  snapshot.gradient_row = gradients.row();
  run.fill_adders(snapshot);
  return snapshot;
}

}  // namespace attnscope
