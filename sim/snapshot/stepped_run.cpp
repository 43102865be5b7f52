#include "sim/snapshot/stepped_run.h"

#include <algorithm>
#include <cmath>

#include "reference/naive_attention.h"
#include "sim/schedule/schedules.h"
#include "sim/snapshot/describe_op.h"
#include "sim/snapshot/row_slice.h"
#include "sim/snapshot/row_trackers.h"
#include "sim/snapshot/score_values.h"

namespace attnscope {

namespace {

constexpr Index kMostLookedAhead = 16;      // limits the search for the next tile
constexpr Index kMostLookedBack = 1 << 15;  // limits the search for a slot's contents

}  // namespace

struct SteppedRun::Impl {
  /// The followed row after the last operation that processed it.
  struct FollowedRow {
    Index query = 0, column = 0, step = -1;
    SoftmaxRow softmax;
    GradientRow gradients;
  };

  explicit Impl(std::unique_ptr<RecordedRun> run)
      : recorded(std::move(run)),
        published(recorded->info),
        ops(*recorded->info, recorded->blocks),
        hbm_step(recorded->info->step_count - 1) {
    if (!recorded->info->has_tile_values) return;
    tile_slice.emplace(*recorded);
    row_slice.emplace(*recorded);
  }

  std::unique_ptr<RecordedRun> recorded;
  std::shared_ptr<const RunInfo> published;  ///< the run's info, read-only
  OpWindow ops;
  Index hbm_step;                                 ///< the step of the executor's HBM state
  std::shared_ptr<const SoftmaxMethods> methods;  ///< of the row requested last
  std::optional<FollowedRow> followed;            ///< row of the last snapshot
  /// For a problem too large for all values: the row tile under the playhead, and that of the
  /// followed row.
  std::optional<RowSlice> tile_slice, row_slice;

  const RunInfo& info() const { return *recorded->info; }
  WarpsByPartition replay(Index step, HeadCounters& counters, SoftmaxTracker* softmax,
                          GradientTracker* gradients);
  void follow_row(Snapshot& snapshot, Index query, Index column);
  void fill_position(Snapshot& snapshot, const BlockStart& block);
  void fill_slots(Snapshot& snapshot, const BlockStart& block);
  void find_contents(SlotState& slot, Index step, const BlockStart& block);
  Tensor held_tensor(const SlotState& slot, Index step, const BlockStart& block);
  void fill_adders(Snapshot& snapshot) const;
  void fill_softmax_methods(Snapshot& snapshot, Index query);
  RowRange shown_rows(const Snapshot& snapshot) const;
  void fill_tile_values(Snapshot& snapshot, Index query, Index column);
  Index first_key(const BlockStart& block) const;
  SoftmaxRow softmax_row(const SoftmaxTracker& tracker, const NumericExecutor::OnChip& on_chip,
                         const RowMatrix* O_in_hbm, const BlockStart& block) const;
  const TileGrid& grid(int launch) const { return info().grids[static_cast<std::size_t>(launch)]; }
};

/// Executes from the keyframe before `step` up to and including `step`, with trackers or without;
/// returns the warps' counts of that operation.
WarpsByPartition SteppedRun::Impl::replay(Index step, HeadCounters& counters,
                                          SoftmaxTracker* softmax, GradientTracker* gradients) {
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
      if (softmax != nullptr) softmax->before(op, g, *recorded->executor);
      if (gradients != nullptr && backward) gradients->before(op, g, *recorded->executor);
      recorded->executor->execute(op);
      if (softmax != nullptr) softmax->after(op, g, *recorded->executor);
      if (gradients != nullptr && backward) gradients->after(op, g, *recorded->executor);
    }
    if (s == step) before = counters.warp_traffic();
    counters.add(op, g);
  }
  const WarpsByPartition after = counters.warp_traffic();
  return {after[0] - before[0], after[1] - before[1]};
}

/// The row and column tile named by the block's latest operations or, failing that, its next ones;
/// a block that names no column tile has none.
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
      slot.tile = grid(block.launch).held_by_slot(tile);
      return;
    }
    for (const Tile& tile : op.sources()) {
      if (!is_this(tile)) continue;
      slot.valid = !tile.last_use;
      slot.tile = grid(block.launch).held_by_slot(tile);
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
  const AttentionProblem& problem = info().problem();
  if (!info().has_values && !info().has_tile_values) return;
  if (problem.N_kv > kMaxComparedKeys) return;
  query = std::clamp<Index>(query, 0, problem.N - 1);
  if (methods == nullptr || methods->query != query) {
    const std::vector<double> scores = score_row(recorded->shown_problem, recorded->inputs, query);
    methods =
        std::make_shared<const SoftmaxMethods>(softmax_methods(query, scores, info().tiling().Bc));
  }
  snapshot.softmax_methods = methods;
}

/// The first key of the thread block: a split of the keys begins where the one before it ends.
Index SteppedRun::Impl::first_key(const BlockStart& block) const {
  const Launch& launch = info().pass.launches[static_cast<std::size_t>(block.launch)];
  if (launch.splits != SplitRole::one_a_block) return 0;
  const TileGrid& g = grid(block.launch);
  const auto split = static_cast<std::int32_t>(block.block % info().options.splits);
  return g.col_begin(column_tiles_of_split(g, split).first);
}

/// The tracker's row, compared with attention over only the keys folded in so far.
SoftmaxRow SteppedRun::Impl::softmax_row(const SoftmaxTracker& tracker,
                                         const NumericExecutor::OnChip& on_chip,
                                         const RowMatrix* O_in_hbm, const BlockStart& block) const {
  SoftmaxRow row = tracker.row();
  if (row.j < 0 || !tracker.consistent()) return row;
  const KeyRange visible = recorded->shown_problem.keys_of(row.query);
  const KeyRange seen{first_key(block), tracker.key_end()};
  row.keys_seen = 0;
  for (Index key = std::max(visible.begin, seen.begin); key < std::min(visible.end, seen.end);
       ++key)
    row.keys_seen += recorded->shown_problem.attends(row.query, key) ? 1 : 0;

  // O of the row: on chip, where each consumer has its rows in a slot, or in HBM once it is stored
  const auto& slots = on_chip[static_cast<std::size_t>(Tensor::O)];
  const auto O = std::ranges::find_if(slots, [&](const NumericExecutor::Slot& slot) {
    const KeyRange rows = grid(block.launch).rows_of(slot.tile);
    return slot.valid && slot.tile.i == row.i && row.query >= rows.begin && row.query < rows.end;
  });
  const bool is_on_chip = O != slots.end();
  if (!is_on_chip && (O_in_hbm == nullptr || O_in_hbm->rows() <= row.query)) return row;
  const auto values = is_on_chip ? O->values.row(row.row_in_tile) : O_in_hbm->row(row.query);
  const PartialRow reference =
      partial_forward(recorded->shown_problem, recorded->inputs, 0, 0, row.query, seen);
  const bool is_sum = is_on_chip && !tracker.normalized() && *row.l != 0.0;
  const double divisor = is_sum ? *row.l : 1.0;
  double error = 0;
  for (Index c = 0; c < info().problem().d; ++c) {
    const double of_column =
        std::abs(values(c) / divisor - reference.O[static_cast<std::size_t>(c)]);
    if (!is_on_chip && std::isnan(of_column)) return row;  // stored elsewhere, or not stored yet
    error = std::max(error, of_column);
  }
  row.error = error;
  return row;
}

/// The chosen row after the last operation up to the snapshot's that processed it.
void SteppedRun::Impl::follow_row(Snapshot& snapshot, Index query, Index column) {
  if (!info().has_values && !info().has_tile_values) return;
  const Index step = recorded->rows.last(query, snapshot.step);
  snapshot.row_step = step;
  const bool is_known =
      followed && followed->query == query && followed->column == column && followed->step == step;
  if (!is_known) {
    followed = FollowedRow{query, column, step, {}, {}};
    followed->softmax.O_column = followed->gradients.column = column;
    if (step >= 0 && row_slice) {
      // Often the row is among those under the playhead, and the slice is shared
      const RowRange rows = row_slice->aligned({query, query + 1});
      const bool shared = step == snapshot.step && rows == shown_rows(snapshot);
      std::optional<RowSlice>& slice = shared ? tile_slice : row_slice;
      slice->move_to(step, rows, query, column);
      followed->softmax =
          softmax_row(slice->softmax(), slice->on_chip(), nullptr, ops.block_of(step));
      followed->gradients = slice->gradients().row();
    } else if (step >= 0) {
      SoftmaxTracker softmax(query, column);
      GradientTracker gradients(query, column);
      HeadCounters unused;
      replay(step, unused, &softmax, &gradients);
      followed->softmax = softmax_row(softmax, recorded->executor->on_chip(),
                                      &recorded->executor->hbm(Tensor::O), ops.block_of(step));
      followed->gradients = gradients.row();
    }
  }
  snapshot.softmax_row = followed->softmax;
  snapshot.gradient_row = followed->gradients;
}

/// The rows of the row tile under the playhead.
RowRange SteppedRun::Impl::shown_rows(const Snapshot& snapshot) const {
  const TileGrid& g = grid(snapshot.launch);
  const Index begin = g.row_begin(snapshot.i);
  return tile_slice->aligned({begin, begin + g.rows_of(snapshot.i)});
}

/// The values of the tiles on chip, from the slice of the row tile under the playhead.
void SteppedRun::Impl::fill_tile_values(Snapshot& snapshot, Index query, Index column) {
  tile_slice->move_to(snapshot.step, shown_rows(snapshot), query, column);
  for (SlotState& state : snapshot.slots) {
    const NumericExecutor::Slot& slot =
        tile_slice->on_chip()[static_cast<std::size_t>(state.tensor)][state.slot - 1U];
    if (state.valid && slot.holds(state.tile)) state.values = value_tile(slot.values);
  }
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
  Snapshot snapshot;
  snapshot.run = run.published;
  snapshot.step = step = std::clamp<Index>(step, -1, last);
  const BlockStart& block = run.ops.block_of(std::max<Index>(step, 0));
  const TileGrid& grid = run.grid(block.launch);
  snapshot.launch = block.launch;
  snapshot.block = block.block;
  run.fill_position(snapshot, block);
  if (query < 0) query = grid.row_begin(snapshot.i);
  const Index column = std::clamp<Index>(O_column, 0, run.info().problem().d - 1);
  run.follow_row(snapshot, query, column);
  HeadCounters counters;
  if (step >= 0) {
    snapshot.op_warps = run.replay(step, counters, nullptr, nullptr);
    snapshot.op = run.ops.at(step);
    snapshot.op_bytes = moved_bytes(snapshot.op, grid);
    snapshot.what = run.ops.place_in_line(step) + describe_op(snapshot.op, grid);
    const Launch& launch = run.info().pass.launches[static_cast<std::size_t>(block.launch)];
    snapshot.why = reason_of(snapshot.op, launch.pseudo_code[snapshot.op.line].why);
  }
  if (step < last) {
    const BlockStart& next_block = run.ops.block_of(step + 1);
    snapshot.next_op = run.ops.at(step + 1);
    snapshot.next_op_bytes = moved_bytes(snapshot.next_op, run.grid(next_block.launch));
  }
  snapshot.bytes_so_far = counters.bytes;
  snapshot.matmul_flops_so_far = counters.flops.matmul;
  snapshot.other_flops_so_far = counters.flops.non_matmul;
  run.fill_slots(snapshot, block);
  if (run.tile_slice && step >= 0) run.fill_tile_values(snapshot, query, column);
  snapshot.hbm = hbm_states(run.info(), run.recorded->stores, step);
  run.fill_softmax_methods(snapshot, query);
  run.fill_adders(snapshot);
  return snapshot;
}

}  // namespace attnscope
