/// Every operation matters: without one of them the numbers are wrong, except for a list of true
/// no-ops; the analysis of a break that drops it (sim/studies/break_effect.h) agrees, and says why.
/// In every tile some row maxima rise, so that alpha differs from 1, and others fall, so that beta
/// does. An agent's wait or arrive is dropped before agents take turns: without it, order differs.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "sim/observers/numeric_executor.h"
#include "sim/resolve.h"
#include "sim/schedule/algorithm.h"
#include "sim/snapshot/describe_op.h"
#include "sim/studies/break_effect.h"
#include "tests/support/listed_block_mask.h"
#include "tests/support/tensor_assertions.h"

namespace attnscope {
namespace {

/// Passes every operation except one to the executor.
class Deleter : public Observer {
 public:
  Deleter(NumericExecutor& executor, Index deleted) : executor_(executor), deleted_(deleted) {}
  void begin_launch(std::string_view name, const TileGrid& grid) override {
    grid_ = &grid;
    executor_.begin_launch(name, grid);
    launch_ = name;
  }
  void begin_block(const BlockId& block) override {
    executor_.begin_block(block);
    block_ = block.block;
    in_first_column_ = false;
    seen_scores_ = false;
    times_.clear();
    if (step_ <= deleted_) awaited_.clear();  // else the deleted operation's block has ended
    in_deleted_block_ = step_ <= deleted_;
  }
  void end_block() override {
    if (!in_deleted_block_ || step_ <= deleted_) return;
    // Executions by agents that precede the deleted operation's agent count as earlier ones
    const auto& times = times_[{deleted_op_.kind, deleted_op_.dest_tiles[0].tensor}];
    for (const auto& [agent, count] : times) {
      if (agent < deleted_op_.agent) deleted_time_ += count;
    }
  }
  void observe(std::span<const TileOp> ops) override {
    for (const TileOp& op : ops) {
      if (op.kind == OpKind::scores) {
        const Tile& S = op.dest_tiles[0];
        const bool whole_sweep = launch_ != "partial";  // else only a split of it
        in_first_column_ =
            whole_sweep ? S.j == *grid_->column_tiles_for(S.i).begin() : !seen_scores_;
        seen_scores_ = true;
      }
      if (op.dest_tiles[0].tensor == Tensor::LSE_split) in_first_column_ = op.dest_tiles[0].j == 0;
      const Index time = times_[{op.kind, op.dest_tiles[0].tensor}][op.agent]++;
      if (op.kind == OpKind::wait && in_deleted_block_) awaited_.push_back(op.barrier());
      if (step_ == deleted_ + 1) deleted_ended_turn_ = op.agent != deleted_op_.agent;
      if (step_ == deleted_) {
        deleted_op_ = op;
        deleted_follows_own_ = op.agent == last_agent_;
        deleted_time_ = time;
        deleted_launch_ = launch_;
        deleted_block_ = block_;
        deleted_in_first_column_ = in_first_column_;
      } else {
        executor_.execute(op);
      }
      last_agent_ = op.agent;
      ++step_;
    }
  }

  Index step_count() const { return step_; }
  const TileOp& deleted_op() const { return deleted_op_; }
  std::string_view launch() const { return deleted_launch_; }  ///< launch of the deleted operation
  Index block() const { return deleted_block_; }
  Index time() const { return deleted_time_; }  ///< how many times its block had run it before
  bool in_first_column() const { return deleted_in_first_column_; }
  /// Whether a wait changes no agent's turn: its agent also ran the operation before it, or had to
  /// wait again right after it.
  bool changes_no_turn() const { return deleted_follows_own_ || deleted_ended_turn_; }
  /// Whether some agent waits for this phase.
  bool is_awaited(const Barrier& barrier) const {
    return std::ranges::any_of(awaited_, [&](const Barrier& other) {
      return other.tile.tensor == barrier.tile.tensor && other.tile.slot == barrier.tile.slot &&
             other.signals == barrier.signals && other.phase == barrier.phase;
    });
  }

 private:
  NumericExecutor& executor_;
  const TileGrid* grid_ = nullptr;
  Index deleted_;
  Index step_ = 0;
  TileOp deleted_op_;
  std::string_view launch_, deleted_launch_;
  Index block_ = 0, deleted_block_ = 0;
  std::map<std::pair<OpKind, Tensor>, std::map<Agent, Index>> times_;
  Index deleted_time_ = 0;
  bool seen_scores_ = false;  ///< whether this thread block has computed scores
  bool in_first_column_ = false, deleted_in_first_column_ = false;
  Agent last_agent_ = Agent::block;
  bool deleted_follows_own_ = false, deleted_ended_turn_ = false;
  bool in_deleted_block_ = true;  ///< false once a later thread block begins
  std::vector<Barrier> awaited_;  ///< phases that an agent of this thread block waits for
};

/// Scores that rise by about 1 per key in even query rows and fall by the same amount in odd ones.
AttentionInputs rising_and_falling_inputs(const AttentionProblem& problem) {
  AttentionInputs inputs = make_inputs(problem, {InputKind::gaussian, 5});
  for (Index row = 0; row < problem.N; ++row) {
    for (Index col = 1; col < problem.d; ++col) inputs.Q.at(0, 0, row, col) *= 0.125;
    inputs.Q.at(0, 0, row, 0) = row % 2 == 0 ? 2.0 : -2.0;
  }
  for (Index key = 0; key < problem.N_kv; ++key) {
    inputs.K.at(0, 0, key, 0) = static_cast<double>(key);
  }
  return inputs;
}

/// The true no-ops. flash1, flash2 forward: in the first column tile l and O are 0, and what is
/// rescaled by alpha stays 0; m~ is the new maximum, so beta is 1; split_kv: the same for the first
/// column tile of a split, and for the first split. Block-sparse: keys and values of a column tile
/// that no row tile computes are loaded all the same. standard: scores that the mask hides are
/// computed, stored and multiplied all the same; P and dS are 0 there. (With a soft cap the launch
/// of dS reads such scores again: NaN would show.) Agents: a wait that ends at once, because what
/// it waits for has happened, or that is followed at once by a wait for something later; an arrival
/// that nobody waits for.
bool is_true_no_op(std::string_view algorithm, const Deleter& deleter, const TileGrid& plain) {
  const TileOp& op = deleter.deleted_op();
  if (op.kind == OpKind::wait) return deleter.changes_no_turn();
  if (op.kind == OpKind::arrive) return !deleter.is_awaited(op.barrier());
  if (algorithm != "standard") {
    const Tile& dest = op.dest_tiles[0];
    const bool keys = dest.tensor == Tensor::K || dest.tensor == Tensor::V;
    if (op.kind == OpKind::load && keys) return plain.row_tiles_for(dest.j).empty();
    return op.kind == OpKind::rescale && deleter.in_first_column();
  }
  const auto hidden = [&](std::int32_t i, std::int32_t j) {
    return !plain.column_tiles_for(i).contains(j) || plain.empty(i, j);
  };
  const auto block = static_cast<std::int32_t>(deleter.block());
  const auto i = block / plain.Tc();
  const auto j = block % plain.Tc();
  const std::string_view launch = deleter.launch();
  const bool read_by_ds = plain.problem().score.soft_cap.has_value();
  if (launch == "scores" || launch == "scale") return hidden(i, j) && !read_by_ds;
  // A mask launch: a tile that it replaces completely needs no earlier value; values that it keeps
  // are in HBM already
  if (launch == "mask") {
    return op.kind == OpKind::load ? hidden(i, j) : op.kind == OpKind::store && !plain.edge(i, j);
  }
  if (launch == "scale_mask") {
    return hidden(i, j) && (op.kind == OpKind::load || op.kind == OpKind::scale);
  }
  // Dropping a hidden probability, 0, or the gradient of one, which dS = P (dP - D) multiplies by 0
  if (launch == "dropout") return hidden(i, j) && op.kind == OpKind::multiply;
  if (launch == "dropout_gradient") {
    return hidden(i, j) && (op.kind == OpKind::multiply || op.kind == OpKind::store);
  }
  // Hidden scores have P = 0, so dS is 0 there before and after its mask and its scale
  if (launch == "mask_gradient") return op.kind != OpKind::load || hidden(i, j);
  if (launch == "scale_gradient") return hidden(i, j) && op.kind != OpKind::load;
  if (launch == "mask_scale_gradient") return hidden(i, j) || op.kind == OpKind::mask_gradient;
  const Tile& weights = op.source_tiles[0];
  const bool by_weights = weights.tensor == Tensor::P || weights.tensor == Tensor::P_drop ||
                          weights.tensor == Tensor::dS;
  return op.is_matrix_product() && by_weights && hidden(weights.i, weights.j);
}

/// Compares the tensors that the two passes leave in HBM with the reference.
bool equals_reference(const NumericExecutor& executor, const ForwardResult& forward,
                      const Gradients* gradients) {
  const RowMatrix LSE =
      executor.hbm(Tensor::LSE).size() > 0
          ? executor.hbm(Tensor::LSE)
          : RowMatrix(executor.hbm(Tensor::m).array() + executor.hbm(Tensor::l).array().log());
  const auto equals = [](const RowMatrix& matrix, const HeadTensor& reference) {
    const std::span values(matrix.data(), static_cast<std::size_t>(matrix.size()));
    return matrix.size() == reference.size() && test::is_near(values, reference.data, 1e-9);
  };
  if (!equals(executor.hbm(Tensor::O), forward.O) || !equals(LSE, forward.LSE)) return false;
  return gradients == nullptr || (equals(executor.hbm(Tensor::dQ), gradients->dQ) &&
                                  equals(executor.hbm(Tensor::dK), gradients->dK) &&
                                  equals(executor.hbm(Tensor::dV), gradients->dV));
}

struct Deletion {
  std::string_view algorithm;
  Index N, N_kv;
  Tiling tiling;
  Mask mask;
  std::string_view extra;
  ScheduleVariant variant;
};

/// The problem of a case: rows whose scores rise or fall, and the features that `extra` names.
AttentionProblem problem_of(const Deletion& c) {
  AttentionProblem problem{.N = c.N, .N_kv = c.N_kv, .d = 4, .dtype = DType::fp32, .mask = c.mask};
  if (c.extra == "steps") problem.score = {12.0, {0.125}, {0.25, 3}};
  if (c.extra == "dropout") problem.score.dropout = {0.25, 3};
  if (c.extra == "sparse") {
    problem.block_mask = test::listed_block_mask(c.tiling, 3, {{0, 2}, {0}, {0, 2}});
  }
  if (c.extra == "padded") problem.key_lengths = {11};
  if (c.extra == "packed_decoding") {
    problem.cu_seqlens_q = {0, 2, 4};
    problem.cu_seqlens_k = {0, 6, 14};
  }
  if (c.extra == "packed") {
    problem.cu_seqlens_q = {0, 6, 12};
    problem.cu_seqlens_k = {0, 6, 14};
  }
  return problem;
}

bool hides_keys(const AttentionProblem& problem) {
  return !problem.mask.is_none() || problem.has_key_lengths() || problem.is_packed();
}

/// The effect of a break that drops the deleted operation from the same run. Nothing for LSE of
/// standard attention, which only this test requests.
std::optional<BreakEffect> effect_of_break(const Deletion& c, const Deleter& deleter,
                                           const AttentionInputs& inputs) {
  const TileOp& op = deleter.deleted_op();
  const Algorithm& algorithm = *find_algorithm(c.algorithm);
  const bool asked_lse = op.dest_tiles[0].tensor == Tensor::LSE && c.algorithm == "standard";
  if (asked_lse) return std::nullopt;
  RunSpec spec{.problem = problem_of(c),
               .algorithm = std::string(c.algorithm),
               .pass = algorithm.has_backward ? PassKind::both : PassKind::forward,
               .variant = c.variant,
               .allow_overflow = true};
  spec.set_tiling(c.tiling);
  if (algorithm.splits_keys) spec.splits = 2;
  spec.variant.broken.dropped = {.launch = std::string(deleter.launch()),
                                 .kind = std::string(to_string(op.kind)),
                                 .tensor = std::string(to_string(op.dest_tiles[0].tensor)),
                                 .only = Occurrence{deleter.block(), deleter.time()}};
  static const GpuDescription gpu = gpu_of(spec).value();
  const auto run = resolve(spec, gpu);
  EXPECT_TRUE(run) << (run ? "" : run.error().message);
  if (!run) return std::nullopt;
  auto effect = break_effect({.run = run.value(), .gpu = gpu, .given_inputs = inputs});
  EXPECT_TRUE(effect);
  return std::move(effect).value();
}

/// Whether the pass leaves the reference's results without the wait or arrive that the deleter
/// dropped.
bool is_right_without(const Deletion& c, const Deleter& deleter, const PassRun& run,
                      const AttentionInputs& inputs, const ForwardResult& forward,
                      const Gradients* gradients) {
  const TileOp& op = deleter.deleted_op();
  PassRun broken = run;
  broken.options.variant.broken.dropped = {
      .launch = std::string(deleter.launch()),
      .kind = std::string(to_string(op.kind)),
      .tensor = std::string(to_string(op.dest_tiles[0].tensor)),
      .only = Occurrence{deleter.block(), deleter.time()}};
  const PassKind kind = gradients == nullptr ? PassKind::forward : PassKind::both;
  const Pass pass = make_pass(*find_algorithm(c.algorithm), kind, broken.options);
  NumericExecutor executor(run.problem, inputs, {});
  executor.begin_head(0, 0, pass.initial_values);
  Observer* const observers[] = {&executor};
  run_head(pass, broken, 0, 0, observers);
  return equals_reference(executor, forward, gradients);
}

/// Expects that the analysis of a break names the first wrong result, or the reason why there is
/// none.
void expect_explained(const BreakEffect& effect, bool is_right) {
  EXPECT_EQ(effect.skipped_count, 1);
  EXPECT_EQ(effect.changes_result(), !is_right);
  if (is_right) {
    EXPECT_FALSE(effect.reasons.empty());
    return;
  }
  ASSERT_TRUE(effect.first_difference && effect.first_wrong_store);
  EXPECT_GE(effect.first_difference->step, effect.first_skipped->step);
  EXPECT_GE(effect.first_wrong_store->step, effect.first_difference->step);
}

class OpDeletion : public testing::TestWithParam<Deletion> {};

TEST_P(OpDeletion, EveryOperationMattersExceptTheListedNoOps) {
  const std::string_view name = GetParam().algorithm;
  const Tiling& tiling = GetParam().tiling;
  const Algorithm& algorithm = *find_algorithm(name);
  const AttentionProblem problem = problem_of(GetParam());
  const AttentionInputs inputs = rising_and_falling_inputs(problem);
  const ForwardResult reference = naive_forward(problem, inputs);
  const ScheduleOptions options{.variant = GetParam().variant,
                                .standard_writes_lse = true,
                                .score_steps = score_steps_of(problem),
                                .splits = 2,
                                .masked = hides_keys(problem)};
  const Gradients gradients = naive_backward(problem, inputs, reference);
  const Gradients* const wanted = algorithm.has_backward ? &gradients : nullptr;
  const Pass pass = make_pass(algorithm, wanted ? PassKind::both : PassKind::forward, options);
  const PassRun run{problem, tiling, options, {}};
  const TileGrid plain = plain_grid(problem, tiling, options);

  Index step_count = 1, no_ops = 0;
  for (Index deleted = -1; deleted < step_count; ++deleted) {
    NumericExecutor executor(problem, inputs, {});
    executor.begin_head(0, 0, pass.initial_values);
    Deleter deleter(executor, deleted);
    Observer* const observers[] = {&deleter};
    run_head(pass, run, 0, 0, observers);
    step_count = deleter.step_count();
    bool right = equals_reference(executor, reference, wanted);
    if (deleted < 0) {
      ASSERT_TRUE(right) << "the whole schedule is wrong";
      continue;
    }
    if (deleter.deleted_op().is_of_barrier()) {
      right = is_right_without(GetParam(), deleter, run, inputs, reference, wanted);
    }
    const bool no_op = is_true_no_op(name, deleter, plain);
    no_ops += no_op && deleter.deleted_op().kind != OpKind::wait;
    SCOPED_TRACE(fmt::format("launch {}, step {}: {}", deleter.launch(), deleted,
                             op_listing(deleter.deleted_op())));
    EXPECT_EQ(right, no_op);
    if (const auto effect = effect_of_break(GetParam(), deleter, inputs)) {
      expect_explained(*effect, no_op);
    }
  }
  EXPECT_LT(no_ops, step_count / 4) << "the list of no-ops hides too much";
}

std::vector<Deletion> deletions() {
  std::vector<Deletion> all;
  for (const Algorithm& algorithm : algorithms()) {
    all.push_back({algorithm.name, 11, 15, {4, 5}, Mask::none()});
    if (algorithm.splits_keys) {  // a split that sees nothing has only no-ops
      all.push_back({algorithm.name, 4, 14, {4, 4}, Mask::causal()});
      all.push_back({algorithm.name, 4, 14, {4, 4}, Mask::causal(), "steps"});
      all.push_back({algorithm.name, 4, 14, {4, 4}, Mask::window(8, 0)});
      all.push_back({algorithm.name, 12, 14, {4, 4}, Mask::none(), "padded"});
      all.push_back({algorithm.name, 4, 14, {4, 4}, Mask::none(), "packed_decoding"});
      continue;
    }
    // On the diagonal, every tile has a rising and a falling row that see a part of it
    all.push_back({algorithm.name, 12, 14, {4, 4}, Mask::causal()});
    all.push_back({algorithm.name, 12, 14, {4, 4}, Mask::causal(), "steps"});
    all.push_back({algorithm.name, 12, 14, {4, 4}, Mask::window(5, 4)});
    all.push_back({algorithm.name, 12, 14, {4, 4}, Mask::none(), "padded"});
    all.push_back({algorithm.name, 12, 14, {4, 4}, Mask::none(), "packed"});
    // No row tile computes column tile 1
    if (algorithm.takes_block_mask) {
      all.push_back({algorithm.name, 11, 15, {4, 5}, Mask::none(), "sparse"});
    }
  }
  for (const Fusion fusion : {Fusion::separate, Fusion::figure2, Fusion::pairs}) {
    all.push_back({"standard", 11, 15, {4, 5}, Mask::none(), "", {.fusion = fusion}});
    all.push_back({"standard", 12, 14, {4, 4}, Mask::causal(), "", {.fusion = fusion}});
    all.push_back({"standard", 12, 14, {4, 4}, Mask::causal(), "dropout", {.fusion = fusion}});
    all.push_back({"standard", 12, 14, {4, 4}, Mask::none(), "padded", {.fusion = fusion}});
    all.push_back({"standard", 12, 14, {4, 4}, Mask::none(), "packed", {.fusion = fusion}});
  }
  all.push_back({"flash2", 11, 15, {4, 5}, Mask::none(), "", {.stages = 2}});
  all.push_back({"flash2", 12, 14, {4, 4}, Mask::causal(), "", {.stages = 2}});
  for (const Index consumers : {1, 2, 3}) {
    const ScheduleVariant by_agents{.stages = 1 + consumers % 3, .consumers = consumers};
    all.push_back({"flash2", 11, 17, {6, 6}, Mask::none(), "", by_agents});
    // Every consumer sees a part of every tile: on a hidden one, most operations are no-ops
    all.push_back({"flash2", 24, 24, {12, 12}, Mask::causal(), "steps", by_agents});
    all.push_back({"flash2", 12, 23, {6, 6}, Mask::window(17, -1), "", by_agents});
  }
  all.push_back({"block_sparse2", 11, 17, {4, 6}, Mask::none(), "sparse", {.consumers = 2}});
  const ScheduleVariant refined{.skip_first_reads = true, .d_once = true};
  all.push_back({"flash1", 11, 15, {4, 5}, Mask::none(), "", refined});
  all.push_back({"flash1", 12, 14, {4, 4}, Mask::causal(), "dropout", refined});
  all.push_back({"flash1", 12, 14, {4, 4}, Mask::none(), "packed", refined});
  return all;
}

INSTANTIATE_TEST_SUITE_P(BothPasses, OpDeletion, testing::ValuesIn(deletions()),
                         [](const auto& test) {
                           const auto& variant = test.param.variant;
                           std::string name =
                               fmt::format("{}_{}_{}_{}{}{}{}{}", test.param.algorithm,
                                           to_string(test.param.mask), to_string(variant.fusion),
                                           variant.stages, variant.d_once ? "_refined" : "",
                                           test.param.extra.empty() ? "" : "_", test.param.extra,
                                           variant.consumers > 0 ? "_by_agents" : "");
                           std::ranges::replace_if(
                               name, [](char c) { return c == ':' || c == ',' || c == '-'; }, '_');
                           return name;
                         });

}  // namespace
}  // namespace attnscope
