#include "sim/studies/break_effect.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "reference/check.h"
#include "sim/observers/progress_observer.h"
#include "sim/snapshot/head_values.h"
#include "sim/studies/right_run.h"

namespace attnscope {

namespace {

/// A difference smaller than this, relative to the largest value of a tile, is rounding.
double rounding_of(const ResolvedRun& run) {
  if (run.asked.round_to_storage && run.problem.dtype != DType::fp32) {
    return run.problem.dtype == DType::fp16 ? 0x1p-8 : 0x1p-5;
  }
  return run.asked.round_to_storage || run.asked.fp32_accumulators ? 1e-5 : 1e-9;
}

const Deviation kInvalid{.has_nan = true};

/// Compares the correct run with the broken one, operation by operation.
class Comparer : public Observer {
 public:
  Comparer(RightRun& right, NumericExecutor& wrong, double rounding, BreakEffect& effect)
      : right_(right), wrong_(wrong), rounding_(rounding), effect_(effect) {}

  void begin_launch(std::string_view name, const TileGrid& grid) override {
    grid_ = &grid;
    right_.begin_launch(name, grid);
    wrong_.begin_launch(name, grid);
    ++launch_;
  }
  void begin_block(const BlockId& block) override {
    block_ = block.block;
    right_.begin_block(block);
    wrong_.begin_block(block);
    for (auto& slots : wrong_slots_) slots.fill(false);
  }
  void deadlock(std::span<const StuckAgent> stuck) override {
    if (effect_.deadlock) return;
    effect_.deadlock = {effect_.step_count, launch_ - 1, block_, {stuck.begin(), stuck.end()}};
  }
  void observe(std::span<const TileOp> ops) override {
    for (const TileOp& op : ops) {
      if (op.skipped) {
        skip(op);
      } else {
        execute(op);
      }
      ++effect_.step_count;
    }
  }

  /// The ways in which wrong values were lost, in order.
  const std::vector<NoChange>& losses() const { return losses_; }
  const std::vector<std::pair<NoChange, Index>>& without_effect() const { return without_effect_; }

 private:
  void execute(const TileOp& op);
  void skip(const TileOp& op);
  Deviation deviation(const Tile& tile, const HeldTile& right) const;
  std::optional<NoChange> leaves(const TileOp& op, const RightResult& right) const;
  void count_without_effect(NoChange reason);
  void note(const TileOp& op, const Tile& tile, const Deviation& deviation);
  void note_loss(const TileOp& op);
  OpPlace here(const TileOp& op) const { return {effect_.step_count, launch_ - 1, block_, op}; }
  bool& wrong_slot(const Tile& tile) {
    return wrong_slots_[static_cast<std::size_t>(tile.tensor)][tile.slot - 1U];
  }

  RightRun& right_;
  NumericExecutor& wrong_;
  double rounding_;
  BreakEffect& effect_;
  const TileGrid* grid_ = nullptr;
  std::size_t launch_ = 0;
  Index block_ = 0;
  std::array<std::array<bool, kMostSlots>, kTensorCount> wrong_slots_{};
  using Place = std::tuple<Tensor, bool, std::uint8_t, std::int32_t, std::int32_t>;
  std::map<Place, Deviation> latest_;  ///< deviation of each tile: on chip or in HBM, part, i, j
  std::vector<NoChange> losses_;
  std::vector<std::pair<NoChange, Index>> without_effect_;
};

/// The deviation of the broken run's values of a tile from the correct run's.
Deviation Comparer::deviation(const Tile& tile, const HeldTile& right) const {
  if (!tile.on_chip()) {
    const Shape shape = grid_->shape(tile), origin = grid_->origin(tile);
    return deviation_of_tile(
        *grid_, tile,
        wrong_.hbm(tile.tensor).block(origin.rows, origin.cols, shape.rows, shape.cols),
        right.values, rounding_);
  }
  const std::optional<RowMatrix> wrong = wrong_.held(tile);
  if (!right.is_there || !wrong || right.values.size() != wrong->size()) return kInvalid;
  return deviation_of_tile(*grid_, tile, *wrong, right.values, rounding_);
}

void Comparer::note(const TileOp& op, const Tile& tile, const Deviation& deviation) {
  if (deviation.is_wrong() && !(op.skipped && tile.on_chip())) {
    if (!effect_.first_difference) effect_.first_difference = here(op);
    if (!tile.on_chip() && !effect_.first_wrong_store) effect_.first_wrong_store = here(op);
  }
  Deviation& latest = latest_[{tile.tensor, tile.on_chip(), tile.part, tile.i, tile.j}];
  if (latest == deviation) return;
  latest = deviation;
  effect_.spread.push_back({effect_.step_count, tile, deviation});
}

/// Records why an operation with a wrong operand has a correct result.
void Comparer::note_loss(const TileOp& op) {
  const auto reason = [&] {
    switch (op.kind) {
      case OpKind::mask:
      case OpKind::mask_gradient:
        return NoChange::masked;
      case OpKind::normalize:
      case OpKind::log_sum_exp:
        return NoChange::cancelled;
      default:
        return NoChange::times_zero;
    }
  }();
  std::erase(losses_, reason);
  losses_.push_back(reason);
}

void Comparer::execute(const TileOp& op) {
  const auto is_wrong = [this](const Tile& tile) { return tile.on_chip() && wrong_slot(tile); };
  const bool wrong_operand = std::ranges::any_of(op.sources(), is_wrong);
  const RightResult right = right_.result_of(op);
  wrong_.execute(op);
  bool any = false;
  for (std::size_t k = 0; k < op.dest_count; ++k) {
    const Tile& tile = op.dest_tiles[k];
    const Deviation found = deviation(tile, right.after[k]);
    note(op, tile, found);
    if (tile.on_chip()) wrong_slot(tile) = found.is_wrong();
    any = any || found.is_wrong();
  }
  if (wrong_operand && !any) note_loss(op);
}

/// Why this operation changes no value in the correct run; nothing if it does.
std::optional<NoChange> Comparer::leaves(const TileOp& op, const RightResult& right) const {
  if (op.kind == OpKind::wait) return NoChange::was_complete;
  if (op.kind == OpKind::arrive) return NoChange::never_awaited;
  const RowMatrix& before = right.before.values;
  const RowMatrix& after = right.after[0].values;
  const bool changes = before.size() != after.size() || op.dest_count > 1 ||
                       deviation_of(after, before, rounding_).is_wrong();
  if (changes) return std::nullopt;
  switch (op.kind) {
    case OpKind::rescale:
      return (before.array() == 0.0).all() ? NoChange::first_iteration : NoChange::times_one;
    case OpKind::multiply:
    case OpKind::scale:
    case OpKind::dropout:
      return NoChange::times_zero;
    case OpKind::mask:
    case OpKind::mask_gradient:
      return NoChange::hides_nothing;
    default:
      break;
  }
  const bool adds = op.is_matrix_product() || op.kind == OpKind::atomic_add ||
                    op.kind == OpKind::add || op.kind == OpKind::add_row_sum ||
                    op.kind == OpKind::add_row_dot;
  return adds ? NoChange::adds_zero : NoChange::same_value;
}

void Comparer::skip(const TileOp& op) {
  if (!op.unreached) {
    ++effect_.skipped_count;
    if (!effect_.first_skipped) effect_.first_skipped = here(op);
  }
  const RightResult right = right_.result_of(op);
  wrong_.execute(op);
  for (std::size_t k = 0; k < op.dest_count; ++k) {
    const Tile& tile = op.dest_tiles[k];
    const Deviation found = deviation(tile, right.after[k]);
    note(op, tile, found);
    if (tile.on_chip()) wrong_slot(tile) = found.is_wrong();
  }
  const auto reason = leaves(op, right);
  if (reason && !op.unreached) count_without_effect(*reason);
}

void Comparer::count_without_effect(NoChange reason) {
  const auto known =
      std::ranges::find(without_effect_, reason, [](const auto& entry) { return entry.first; });
  if (known == without_effect_.end()) {
    without_effect_.emplace_back(reason, 1);
  } else {
    ++known->second;
  }
}

ResultDeviation result_deviation(Tensor tensor, const RowMatrix& wrong, const RowMatrix& right,
                                 double rounding) {
  ResultDeviation result{tensor, deviation_of(wrong, right, rounding), {}};
  for (Eigen::Index row = 0; row < right.rows(); ++row) {
    result.by_row.push_back(deviation_of(wrong.row(row), right.row(row), rounding).largest());
  }
  return result;
}

/// The deviations of the tensors that the caller of the pass requests.
std::vector<ResultDeviation> results_of(const NumericExecutor& wrong, const NumericExecutor& right,
                                        const ResolvedRun& run, double rounding) {
  std::vector<ResultDeviation> results;
  const auto add = [&](Tensor tensor, const RowMatrix& of_wrong, const RowMatrix& of_right) {
    if (of_right.size() == 0 || of_wrong.size() != of_right.size()) return;
    results.push_back(result_deviation(tensor, of_wrong, of_right, rounding));
  };
  if (run.pass() != PassKind::backward) {
    add(Tensor::O, wrong.hbm(Tensor::O), right.hbm(Tensor::O));
    add(Tensor::LSE, log_sum_exp(wrong), log_sum_exp(right));
  }
  if (run.pass() == PassKind::forward) return results;
  for (const Tensor tensor : {Tensor::dQ, Tensor::dK, Tensor::dV}) {
    add(tensor, wrong.hbm(tensor), right.hbm(tensor));
  }
  return results;
}

/// The reasons why the result is right: why some executions had no effect, and how the effects of
/// the others were lost.
std::vector<std::pair<NoChange, Index>> reasons_of(const BreakEffect& effect,
                                                   const Comparer& comparer) {
  std::vector<std::pair<NoChange, Index>> reasons = comparer.without_effect();
  Index explained = 0;
  for (const auto& [reason, times] : reasons) explained += times;
  const bool replaced = effect.skipped_count == 0 && !effect.spread.empty();
  const Index rest = replaced ? 1 : effect.skipped_count - explained;
  if (rest > 0 && comparer.losses().empty()) reasons.emplace_back(NoChange::never_read, rest);
  if (rest > 0) {
    for (auto loss = comparer.losses().rbegin(); loss != comparer.losses().rend(); ++loss) {
      reasons.emplace_back(*loss, rest);
    }
  }
  return reasons;
}

}  // namespace

std::string_view sentence_of(NoChange reason) {
  switch (reason) {
    case NoChange::never_runs:
      return "this run never executes it there";
    case NoChange::first_iteration:
      return "in the first iteration it rescales zeros";
    case NoChange::times_one:
      return "it multiplies by 1: no row's maximum has changed";
    case NoChange::adds_zero:
      return "it adds 0: the mask hides these keys, so their probabilities are 0";
    case NoChange::hides_nothing:
      return "there is nothing left to hide in these tiles";
    case NoChange::same_value:
      return "its result is the value already there";
    case NoChange::masked:
      return "the mask replaces every value that depends on it";
    case NoChange::times_zero:
      return "every number that it multiplies is 0";
    case NoChange::cancelled:
      return "the division by l cancels it: the softmax does not depend on it";
    case NoChange::never_read:
      return "nothing reads its result";
    case NoChange::was_complete:
      return "the event it waits for has already happened, in the model's order of the agents";
    case NoChange::never_awaited:
      return "no agent waits for this arrival";
  }
  return "";
}

bool BreakEffect::changes_result() const {
  return std::ranges::any_of(
      results, [](const ResultDeviation& result) { return result.deviation.is_wrong(); });
}

Result<BreakEffect> break_effect(const SteppedRequest& request, const std::atomic<bool>* cancel) {
  const ResolvedRun& run = request.run;
  ATTNSCOPE_CHECK(run.asked.variant.broken.any(), ==, true);
  if (const auto report = simulate(run, request.gpu, cancel); !report) return report.error();
  if (run.problem.N * run.problem.N_kv > kMaxShownScores) {
    return invalid_field(
        ErrorCode::too_many, "seq_len",
        "{} x {} scores are too many to compare values; the limit is {}: choose a smaller problem",
        run.problem.N, run.problem.N_kv, kMaxShownScores);
  }
  BreakEffect effect;
  const ScheduleOptions options = schedule_options(run, request.gpu);
  effect.pass = make_head_pass(*find_algorithm(run.algorithm()), run.pass(), options);
  for (const Launch& launch : effect.pass.launches) {
    effect.grids.push_back(launch.grid(run.problem, run.tiling, options));
    effect.grids.back().set_batch(request.batch);
  }

  // Two executors with the same inputs, one of them without the break
  const AttentionProblem one_head = one_head_of(run.problem, request.batch, request.head);
  const AttentionInputs inputs = inputs_of(request, request.head);
  NumericExecutor wrong(one_head, inputs, numeric_rules(run.asked));
  NumericExecutor right(one_head, inputs, without_break(numeric_rules(run.asked)));
  const double rounding = rounding_of(run);
  const ScheduleOptions whole = without_break(options);
  const Pass whole_pass = make_head_pass(*find_algorithm(run.algorithm()), run.pass(), whole);
  RightRun right_run(right, whole_pass);
  Comparer comparer(right_run, wrong, rounding, effect);
  try {
    begin_values(request, effect.pass, options, one_head, wrong);
    begin_values(request, whole_pass, whole, one_head, right);
    run_rest_of_group(request, effect.pass, options, cancel, wrong);
    run_rest_of_group(request, whole_pass, whole, cancel, right);
    CancelObserver canceller(cancel);
    Observer* const observers[] = {&comparer, &canceller};
    run_head(effect.pass, {run.problem, run.tiling, options, {}}, request.batch, request.head,
             observers);
  } catch (const Cancelled&) {
    return cancelled();
  }
  effect.results = results_of(wrong, right, run, rounding);
  if (!effect.changes_result()) effect.reasons = reasons_of(effect, comparer);
  if (!effect.changes_result() && effect.reasons.empty()) {
    effect.reasons.emplace_back(
        run.asked.variant.broken.replaces() ? NoChange::same_value : NoChange::never_runs, 1);
  }
  return effect;
}

std::vector<Deviation> deviations_at(const BreakEffect& effect, Tensor tensor, bool in_hbm,
                                     Index rows, Index cols, Index step) {
  std::map<std::pair<Index, std::uint8_t>, const Deviation*> latest;  // of each tile and its part
  for (const TileDeviation& entry : effect.spread) {
    if (entry.step > step) break;
    const Tile& tile = entry.tile;
    if (tile.tensor != tensor || tile.on_chip() == in_hbm) continue;
    const Index row = layout_of(tensor) == TensorLayout::key_by_d ? tile.j : tile.i;
    const Index col = is_score(tensor) ? tile.j : 0;
    if (row < 0 || row >= rows || col < 0 || col >= cols) continue;
    latest[{row * cols + col, tile.part}] = &entry.deviation;
  }
  std::vector<Deviation> tiles(static_cast<std::size_t>(rows * cols));
  for (const auto& [place, deviation] : latest) {
    Deviation& tile = tiles[static_cast<std::size_t>(place.first)];
    tile.max_abs = std::max(tile.max_abs, deviation->max_abs);
    tile.has_nan = tile.has_nan || deviation->has_nan;
    tile.by_row.resize(std::max(tile.by_row.size(), deviation->by_row.size()));
    for (std::size_t k = 0; k < deviation->by_row.size(); ++k) {
      tile.by_row[k] = std::max(tile.by_row[k], deviation->by_row[k]);
    }
  }
  return tiles;
}

}  // namespace attnscope
