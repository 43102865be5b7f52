#include "sim/snapshot/stepped_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "reference/naive_attention.h"
#include "reference/row_blocks.h"
#include "reference/score_steps.h"
#include "sim/observers/progress_observer.h"
#include "sim/schedule/catalog.h"
#include "sim/schedule/split_kv.h"
#include "sim/snapshot/describe_op.h"
#include "sim/snapshot/gradient_tracker.h"
#include "sim/snapshot/hbm_states.h"
#include "sim/snapshot/softmax_tracker.h"

namespace attnscope {

namespace {

constexpr Index kWindowOps = 1 << 16;           // operations kept around the playhead
constexpr Index kMaxSteps = Index{1} << 26;     // more could be counted, but not usefully walked
constexpr double kKeyframeBudgetBytes = 256e6;  // memory for keyframes
constexpr double kJournalBudgetBytes = 1e9;     // memory for stored values
constexpr double kKeyframeFlops = 4e6;          // a few milliseconds of replay
constexpr Index kMostLookedAhead = 16;          // operations searched for the tile that they begin
constexpr Index kMostLookedBack = 1 << 15;      // operations searched for what a slot holds

/// Collects the operations [begin, end) of one thread block.
class OpCollector : public Observer {
 public:
  OpCollector(Index begin, Index end) : begin_(begin), end_(end) {}
  void observe(std::span<const TileOp> ops) override {
    for (const TileOp& op : ops) {
      if (step_ >= begin_ && step_ < end_) ops_.push_back(op);
      ++step_;
    }
  }
  std::vector<TileOp> take() { return std::move(ops_); }

 private:
  Index begin_, end_, step_ = 0;
  std::vector<TileOp> ops_;
};

ValueTile value_tile(const RowMatrix& values) {
  return {values.rows(), values.cols(), {values.data(), values.data() + values.size()}};
}

/// softmax_scale Q K^T of the one head, capped and biased as the problem has it, with hidden keys
/// at -inf.
ValueTile masked_scores(const AttentionProblem& problem, const AttentionInputs& inputs) {
  RowMatrix S = problem.softmax_scale() *
                (head_matrix(inputs.Q, 0, 0) * head_matrix(inputs.K, 0, 0).transpose());
  const ScoreSteps steps(problem, 0, 0);
  for (Index query = 0; query < problem.N; ++query) {
    steps.apply(S.row(query), query, 0);
    const KeyRange keys = problem.keys_of(query);
    for (Index key = 0; key < problem.N_kv; ++key) {
      if (key < keys.begin || key >= keys.end) S(query, key) = -INFINITY;
    }
    hide_masked_tiles(problem, query, {0, problem.N_kv}, S.row(query));
  }
  return value_tile(S);
}

/// Tensors of the one head that is shown.
AttentionInputs shown_inputs(const SteppedRequest& request) {
  const AttentionProblem& problem = request.simulation.problem;
  return request.given_inputs
             ? head_of(problem, *request.given_inputs, request.batch, request.head)
             : make_head_inputs(problem, request.inputs, request.batch, request.head);
}

}  // namespace

struct SteppedRun::Impl {
  std::shared_ptr<RunInfo> info = std::make_shared<RunInfo>();
  std::shared_ptr<const RunInfo> published = info;  ///< the same, as readers see it
  AttentionProblem shown_problem;                   ///< one head
  AttentionInputs inputs;
  std::vector<LaunchOccupancy> occupancy;
  std::vector<BlockStart> blocks;
  std::vector<Keyframe> keyframes;
  std::array<StoreHistory, kTensorCount> stores;
  Journal journal;
  std::unique_ptr<NumericExecutor> executor;
  Index hbm_step = -1;  ///< the executor's HBM is the one after this step

  std::shared_ptr<const SoftmaxMethods> methods;  ///< of the row that was asked for last

  // Operations around the playhead, regenerated when it leaves them
  std::vector<TileOp> window;
  Index window_begin = 0;

  std::optional<Error> build(const SteppedRequest& request,
                             const std::function<void(double)>& progress,
                             const std::atomic<bool>* cancel);
  void run_forward_before();
  std::size_t block_of(Index step) const;
  Index block_end(const BlockStart& block) const;
  const TileOp& op_at(Index step);
  WarpsByPartition replay(Index step, HeadCounters& counters, SoftmaxTracker& softmax,
                          GradientTracker& gradients);
  void fill_position(Snapshot& snapshot, const BlockStart& block);
  void fill_slots(Snapshot& snapshot, const BlockStart& block);
  void find_contents(SlotState& slot, Index step, const BlockStart& block);
  void fill_adders(Snapshot& snapshot) const;
  void fill_softmax_methods(Snapshot& snapshot, Index query);
  Index first_key(const Snapshot& snapshot) const;
  void fill_softmax_row(Snapshot& snapshot, const SoftmaxTracker& tracker) const;
  const TileGrid& grid(int launch) const { return info->grids[static_cast<std::size_t>(launch)]; }
};

std::optional<Error> SteppedRun::Impl::build(const SteppedRequest& request,
                                             const std::function<void(double)>& progress,
                                             const std::atomic<bool>* cancel) {
  // Count first: it refuses what cannot work
  Result<SimulationReport> report = simulate(request.simulation);
  if (!report.ok()) return report.error();
  const AttentionProblem& problem = request.simulation.problem;
  const Index heads = problem.batch * problem.heads;
  const Index steps = report.value().tile_ops / heads;
  if (steps > kMaxSteps) {
    return invalid_request(fmt::format(
        "one head has {} tile operations; at most {} can be walked: use larger tiles or a shorter "
        "sequence",
        steps, kMaxSteps));
  }

  // Describe the run
  info->problem = problem;
  info->algorithm = find_algorithm(request.simulation.algorithm);
  info->totals = std::move(report).value();
  info->tiling = info->totals.tiling;
  info->gpu = request.simulation.gpu;
  info->options = schedule_options(request.simulation, info->tiling);
  info->options.heads_per_kv_head = 1;  // one head is shown, with its own part of dK and dV
  info->pass = make_pass(*info->algorithm, request.simulation.pass, info->options);
  info->first_backward = request.simulation.pass == PassKind::backward
                             ? 0
                             : info->algorithm->forward(info->options).launches.size();
  info->batch = request.batch;
  info->head = request.head;
  for (const Launch& launch : info->pass.launches) {
    info->grids.push_back(launch.grid(problem, info->tiling, info->options));
    info->grids.back().set_batch(request.batch);
  }
  const TileGrid plain = plain_grid(problem, info->tiling, info->options);
  info->Tr = plain.Tr();
  info->Tc = plain.Tc();
  info->score_tiles.resize(static_cast<std::size_t>(info->Tr * info->Tc));

  // Values, where the problem is small enough to show them
  const double stored_values =
      static_cast<double>(info->totals.requested.write_bytes) / static_cast<double>(heads) /
      static_cast<double>(size_bytes(problem.dtype)) * static_cast<double>(sizeof(double));
  info->has_values = problem.N * problem.N_kv <= kMaxShownScores &&
                     stored_values <= kJournalBudgetBytes * request.memory_share;
  if (info->has_values) {
    shown_problem = one_head_of(problem, request.batch, request.head);
    inputs = shown_inputs(request);
    executor = std::make_unique<NumericExecutor>(
        shown_problem, inputs, NumericPrecision{.round_to_storage = request.round_to_storage});
    executor->begin_head(0, 0, info->pass.initial_values);
    if (request.simulation.pass == PassKind::backward) run_forward_before();
    info->reference_scores = masked_scores(shown_problem, inputs);
    info->reference_O = value_tile(head_matrix(naive_forward(shown_problem, inputs).O, 0, 0));
  }

  // Run the head once
  const double on_chip_bytes = 2.0 * static_cast<double>(info->totals.sram_bytes_per_block * 4 +
                                                         info->totals.register_bytes_per_block * 2);
  const double head_flops =
      static_cast<double>(info->totals.matmul_flops) / static_cast<double>(heads);
  RunRecorder recorder(*info, executor.get(),
                       std::max(kKeyframeFlops, head_flops * on_chip_bytes /
                                                    (kKeyframeBudgetBytes * request.memory_share)));
  for (const InitialValue& initial : info->pass.initial_values) {
    recorder.journal.set_initial_value(initial.tensor, initial.value);
  }
  OccupancyObserver slots;
  ProgressObserver ticker(steps, progress, cancel);
  Observer* const observers[] = {&recorder, &slots, &ticker};
  try {
    run_head(info->pass, {problem, info->tiling, info->options, {}}, request.batch, request.head,
             observers);
  } catch (const ProgressObserver::Cancelled&) {
    return failed("cancelled");
  }
  if (info->step_count == 0) {
    return invalid_request("the masks hide every tile, so that this pass has no step to walk");
  }
  info->head_bytes = recorder.counters().bytes;
  info->head_warps = recorder.counters().warp_traffic();
  occupancy = slots.launches();
  blocks = std::move(recorder.blocks);
  keyframes = std::move(recorder.keyframes);
  stores = std::move(recorder.stores);
  journal = std::move(recorder.journal);
  hbm_step = info->step_count - 1;
  return std::nullopt;
}

/// The backward pass starts from the HBM that the forward pass left.
void SteppedRun::Impl::run_forward_before() {
  const Pass forward = make_pass(*info->algorithm, PassKind::forward, info->options);
  executor->set_initial_values(forward.initial_values);
  Observer* const observers[] = {executor.get()};
  run_head(forward, {shown_problem, info->tiling, info->options, {}}, 0, 0, observers);
}

std::size_t SteppedRun::Impl::block_of(Index step) const {
  const auto past = std::ranges::upper_bound(blocks, step, {}, &BlockStart::first_step);
  return static_cast<std::size_t>(past - blocks.begin()) - 1;
}

/// The step after the block's last one.
Index SteppedRun::Impl::block_end(const BlockStart& block) const {
  const auto next = std::ranges::upper_bound(blocks, block.first_step, {}, &BlockStart::first_step);
  return next == blocks.end() ? info->step_count : next->first_step;
}

const TileOp& SteppedRun::Impl::op_at(Index step) {
  if (step >= window_begin && step < window_begin + static_cast<Index>(window.size())) {
    return window[static_cast<std::size_t>(step - window_begin)];
  }

  // Regenerate the part of the thread block around the step
  const BlockStart& block = blocks[block_of(step)];
  const Index local = step - block.first_step;
  const Index begin = std::max<Index>(0, local - kWindowOps / 2);
  OpCollector collector(begin, begin + kWindowOps);
  Observer* const observers[] = {&collector};
  Program program(observers);
  const Launch& launch = info->pass.launches[static_cast<std::size_t>(block.launch)];
  launch.run(grid(block.launch), block.block, program);
  window = collector.take();
  window_begin = block.first_step + begin;
  return window[static_cast<std::size_t>(step - window_begin)];
}

/// Executes from the keyframe before `step` up to and including it; answers what the warps did in
/// that one.
WarpsByPartition SteppedRun::Impl::replay(Index step, HeadCounters& counters,
                                          SoftmaxTracker& softmax, GradientTracker& gradients) {
  const auto past = std::ranges::upper_bound(keyframes, step, {}, &Keyframe::step);
  const Keyframe& keyframe = *(past - 1);
  const BlockStart& block = blocks[keyframe.block_index];
  const bool backward = static_cast<std::size_t>(block.launch) >= info->first_backward;
  counters = keyframe.counters;
  if (executor) {
    journal.move(hbm_step, keyframe.step - 1, *executor);
    executor->set_grid(grid(block.launch));
    executor->restore(keyframe.on_chip);
    hbm_step = step;
  }
  WarpsByPartition before{};
  for (Index s = keyframe.step; s <= step; ++s) {
    const TileOp& op = op_at(s);
    const TileGrid& g = grid(block.launch);
    if (executor) {
      softmax.before(op, g, *executor);
      if (backward) gradients.before(op, g, *executor);
      executor->execute(op);
      softmax.after(op, g, *executor);
      if (backward) gradients.after(op, g, *executor);
    }
    if (s == step) before = counters.warp_traffic();
    counters.add(op, g);
  }
  const WarpsByPartition after = counters.warp_traffic();
  return {after[0] - before[0], after[1] - before[1]};
}

/// The row and column tile that the block's latest operations name, or else its next ones.
void SteppedRun::Impl::fill_position(Snapshot& snapshot, const BlockStart& block) {
  bool has_i = false;
  bool has_j = false;
  const auto look_at = [&](const Tile& tile) {
    const TensorLayout layout = layout_of(tile.tensor);
    if (!has_i && layout != TensorLayout::key_by_d) {
      snapshot.i = tile.i;
      has_i = true;
    }
    if (!has_j && (layout == TensorLayout::key_by_d || layout == TensorLayout::query_by_key)) {
      snapshot.j = tile.j;
      has_j = true;
    }
  };
  const auto look_at_op = [&](Index s) {
    const TileOp op = op_at(s);
    for (const Tile& tile : op.dests()) look_at(tile);
    for (const Tile& tile : op.sources()) look_at(tile);
  };
  const Index here = std::max<Index>(snapshot.step, 0);
  for (Index s = here; s >= block.first_step && !(has_i && has_j); --s) look_at_op(s);
  const Index past = std::min(block_end(block), here + kMostLookedAhead);
  for (Index s = here + 1; s < past && !(has_i && has_j); ++s) look_at_op(s);
}

/// What a slot holds without an executor: the operation before that last touched it says so.
void SteppedRun::Impl::find_contents(SlotState& slot, Index step, const BlockStart& block) {
  const auto is_this = [&](const Tile& tile) {
    return tile.tensor == slot.tensor && tile.slot == slot.slot;
  };
  const Index farthest = std::max(block.first_step, step - kMostLookedBack);
  for (Index s = step; s >= farthest; --s) {
    const TileOp op = op_at(s);
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

void SteppedRun::Impl::fill_slots(Snapshot& snapshot, const BlockStart& block) {
  const LaunchOccupancy& uses = occupancy[static_cast<std::size_t>(snapshot.launch)];
  for (const SlotUse& use : uses.slots) {
    SlotState state;
    state.tensor = use.tensor;
    state.slot = use.slot;
    state.space = use.space;
    state.capacity = use.capacity;
    state.capacity_bytes = use.bytes;
    if (!executor && snapshot.step >= 0) {
      find_contents(state, snapshot.step, block);
    } else if (snapshot.step >= 0) {
      const NumericExecutor::Slot& slot =
          executor->on_chip()[static_cast<std::size_t>(use.tensor)][use.slot - 1U];
      state.valid = slot.valid;
      if (slot.valid) {
        state.tile = slot.tile;
        state.values = value_tile(slot.values);
      }
    }
    snapshot.slots.push_back(std::move(state));
  }
}

/// Who has added to the row tile of dQ that is being worked on.
void SteppedRun::Impl::fill_adders(Snapshot& snapshot) const {
  const auto& adds = stores[static_cast<std::size_t>(Tensor::dQ_accum)].adds;
  const GradientRow& row = snapshot.gradient_row;
  const auto tile = static_cast<std::size_t>(row.known ? row.i : snapshot.i);
  if (tile >= adds.size()) return;
  for (const AddRecord& add : adds[tile]) {
    if (add.step <= snapshot.step) snapshot.adders.push_back(add.block);
  }
  snapshot.adders_whole = static_cast<std::int32_t>(adds[tile].size());
}

void SteppedRun::Impl::fill_softmax_methods(Snapshot& snapshot, Index query) {
  const ValueTile& scores = info->reference_scores;
  if (scores.values.empty() || scores.cols > kMaxComparedKeys) return;
  query = std::clamp<Index>(query, 0, scores.rows - 1);
  if (methods == nullptr || methods->query != query) {
    const std::span<const double> all(scores.values);
    const auto first = static_cast<std::size_t>(query * scores.cols);
    methods = std::make_shared<const SoftmaxMethods>(softmax_methods(
        query, all.subspan(first, static_cast<std::size_t>(scores.cols)), info->tiling.Bc));
  }
  snapshot.softmax_methods = methods;
}

/// The first key of the thread block: a split of the keys begins where the one before it ends.
Index SteppedRun::Impl::first_key(const Snapshot& snapshot) const {
  const TileGrid& g = grid(snapshot.launch);
  const Index splits = g.options().splits;
  return g.col_begin(
      column_tiles_of_split(g, static_cast<std::int32_t>(snapshot.block % splits)).first);
}

void SteppedRun::Impl::fill_softmax_row(Snapshot& snapshot, const SoftmaxTracker& tracker) const {
  SoftmaxRow& row = snapshot.softmax_row;
  row = tracker.row();
  if (row.j < 0 || !tracker.consistent()) return;
  const KeyRange visible = shown_problem.keys_of(row.query);
  const KeyRange seen{first_key(snapshot), tracker.key_end()};
  row.keys_seen = 0;
  for (Index key = std::max(visible.begin, seen.begin); key < std::min(visible.end, seen.end);
       ++key)
    row.keys_seen += shown_problem.attends(row.query, key) ? 1 : 0;

  // Compare with attention over just the keys folded in so far
  const auto& O = executor->on_chip()[static_cast<std::size_t>(Tensor::O)][0];
  if (!O.valid || O.tile.i != row.i) return;
  const PartialRow reference = partial_forward(shown_problem, inputs, 0, 0, row.query, seen);
  const double divisor = tracker.normalized() || *row.l == 0.0 ? 1.0 : *row.l;
  double error = 0;
  for (Index c = 0; c < info->problem.d; ++c) {
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
  auto impl = std::make_unique<Impl>();
  if (auto error = impl->build(request, progress, cancel)) return *error;
  return std::unique_ptr<SteppedRun>(new SteppedRun(std::move(impl)));
}

Snapshot SteppedRun::at(Index step, Index query, Index O_column) {
  Impl& run = *impl_;
  const Index last = run.info->step_count - 1;
  step = std::clamp<Index>(step, -1, last);
  Snapshot snapshot;
  snapshot.run = run.info;
  snapshot.step = step;

  const BlockStart& block = run.blocks[run.block_of(std::max<Index>(step, 0))];
  const TileGrid& grid = run.grid(block.launch);
  snapshot.launch = block.launch;
  snapshot.block = block.block;
  const Index column = std::clamp<Index>(O_column, 0, run.info->problem.d - 1);
  GradientTracker gradients(std::max<Index>(query, 0), column);
  SoftmaxTracker tracker(std::max<Index>(query, 0),
                         std::clamp<Index>(O_column, 0, run.info->problem.d - 1));
  HeadCounters counters;
  if (step >= 0) {
    snapshot.op_warps = run.replay(step, counters, tracker, gradients);
    snapshot.op = run.op_at(step);
    snapshot.op_bytes = moved_bytes(snapshot.op, grid);
    snapshot.what = describe_op(snapshot.op, grid);
    const Launch& launch = run.info->pass.launches[static_cast<std::size_t>(block.launch)];
    snapshot.why = launch.pseudo_code[snapshot.op.line].why;
  }
  if (step < last) {
    const BlockStart& next_block = run.blocks[run.block_of(step + 1)];
    snapshot.next_op = run.op_at(step + 1);
    snapshot.next_op_bytes = moved_bytes(snapshot.next_op, run.grid(next_block.launch));
  }
  snapshot.bytes_so_far = counters.bytes;
  snapshot.matmul_flops_so_far = counters.flops.matmul;
  snapshot.other_flops_so_far = counters.flops.non_matmul;
  run.fill_position(snapshot, block);
  run.fill_slots(snapshot, block);
  snapshot.hbm = hbm_states(*run.info, run.stores, step);
  if (run.executor) run.fill_softmax_row(snapshot, tracker);
  run.fill_softmax_methods(snapshot, query);
  snapshot.gradient_row = gradients.row();
  run.fill_adders(snapshot);
  return snapshot;
}

}  // namespace attnscope
