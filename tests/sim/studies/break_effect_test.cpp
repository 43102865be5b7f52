#include "sim/studies/break_effect.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "reference/field_rules.h"
#include "sim/resolve.h"
#include "sim/schedule/breaks.h"
#include "sim/snapshot/describe_op.h"

namespace attnscope {
namespace {

RunSpec run_of(std::string_view algorithm, PassKind pass, Mask mask = Mask::none()) {
  RunSpec spec{.problem = {.N = 12, .N_kv = 12, .d = 4, .dtype = DType::fp32, .mask = mask},
               .algorithm = std::string(algorithm),
               .pass = pass,
               .allow_overflow = true};
  spec.set_tiling({4, 4});
  return spec;
}

Result<BreakEffect> effect_of(RunSpec spec, std::string_view broken) {
  if (const auto error = set_field(run_field("break"), broken, spec)) return *error;
  static const GpuDescription gpu = gpu_of(spec).value();
  const auto run = resolve(spec, gpu);
  if (!run) return run.error();
  return break_effect({.run = run.value(), .gpu = gpu});
}

BreakEffect effect(const RunSpec& spec, std::string_view broken) {
  auto found = effect_of(spec, broken);
  EXPECT_TRUE(found) << broken << (found ? "" : found.error().message);
  return found ? std::move(found).value() : BreakEffect{};
}

std::string place(const BreakEffect& effect, const std::optional<OpPlace>& at) {
  if (!at) return "none";
  return fmt::format("{} {}.{}: {}", at->step, effect.pass.launches[at->launch].name, at->block,
                     op_listing(at->op));
}

/// A break for each operation of the run, which drops that operation.
std::vector<std::string> breaks_of(const RunSpec& spec) {
  const GpuDescription gpu = gpu_of(spec).value();
  const ResolvedRun run = resolve(spec, gpu).value();
  const ScheduleOptions options = schedule_options(run, gpu);
  const Pass pass = make_head_pass(*find_algorithm(spec.algorithm), spec.pass, options);
  const auto operations = operations_of(pass, {run.problem, run.tiling, options, {}});
  std::vector<std::string> breaks;
  for (const PassOperation& each : operations) {
    breaks.push_back(to_string(break_of(each, pass, operations)));
  }
  return breaks;
}

/// The orders of operations of the pass: as in the paper, with separate kernels, with agents.
std::vector<ScheduleVariant> variants_of(const Algorithm& algorithm, PassKind pass) {
  std::vector<ScheduleVariant> variants = {{}};
  if (algorithm.softmax == SoftmaxForm::whole_rows)
    variants.push_back({.fusion = Fusion::separate});
  const ScheduleVariant agents{.stages = 2, .consumers = 2};
  RunSpec spec = run_of(algorithm.name, pass);
  spec.variant = agents;
  if (!validate(spec)) variants.push_back(agents);
  return variants;
}

TEST(BreakEffect, EveryOperationOfEveryLineIsExplained) {
  // Operations that can be dropped wherever they run without changing anything
  const std::map<std::string, NoChange> no_ops = {
      // Scores that the mask hides have P = 0, so that dS is 0 there already
      {"separate drop:mask_gradient:mask_gradient:dS", NoChange::hides_nothing},
      {"separate drop:mask_gradient:store:dS", NoChange::same_value},
      // Every row sees more keys in split 0 than in split 1, and its LSE is larger there
      {"drop:combine:rescale:l", NoChange::times_one},
      {"drop:combine:rescale:O", NoChange::times_one},
  };
  std::size_t explained = 0;
  for (const Algorithm& algorithm : algorithms()) {
    for (const PassKind pass : {PassKind::forward, PassKind::backward, PassKind::both}) {
      if (pass != PassKind::forward && !algorithm.has_backward) continue;
      for (const ScheduleVariant& variant : variants_of(algorithm, pass)) {
        const bool separate = variant.fusion == Fusion::separate;
        RunSpec spec = run_of(algorithm.name, pass, Mask::causal());
        if (algorithm.splits_keys) spec.splits = 2;
        spec.variant = variant;
        for (const std::string& broken : breaks_of(spec)) {
          SCOPED_TRACE(fmt::format("{} {}, {}: {}", algorithm.name, to_string(pass),
                                   to_string(variant), broken));
          const BreakEffect found = effect(spec, broken);
          EXPECT_GT(found.skipped_count, 0);
          const auto listed = no_ops.find((separate ? "separate " : "") + broken);
          std::vector<NoChange> no_change;
          if (listed != no_ops.end()) no_change = {listed->second};
          // In the model's order of the agents, many barriers are passed without waiting
          const bool synchronizes = found.first_skipped->op.kind == OpKind::wait ||
                                    found.first_skipped->op.kind == OpKind::arrive;
          if (synchronizes && !found.changes_result()) {
            no_change = {NoChange::was_complete, NoChange::never_awaited};
          }
          EXPECT_EQ(found.changes_result(), no_change.empty());
          if (found.changes_result()) {
            EXPECT_TRUE(found.first_difference && found.first_wrong_store);
          } else {
            EXPECT_TRUE(std::ranges::any_of(found.reasons, [&](const auto& reason) {
              return std::ranges::find(no_change, reason.first) != no_change.end();
            }));
          }
          ++explained;
        }
      }
    }
  }
  EXPECT_GT(explained, 400U);
}

/// "drop:forward:11": both operations of O_i = alpha · O_i + P V_j.
TEST(BreakEffect, AWholeLineIsDropped) {
  const RunSpec spec = run_of("flash2", PassKind::forward);
  const BreakEffect line = effect(spec, "drop:forward:11");
  const BreakEffect rescale = effect(spec, "drop:forward:11:rescale:O");
  const BreakEffect accumulate = effect(spec, "drop:forward:11:accumulate:O");
  EXPECT_EQ(line.skipped_count, rescale.skipped_count + accumulate.skipped_count);
  EXPECT_EQ(place(line, line.first_skipped), place(rescale, rescale.first_skipped));
  EXPECT_EQ(place(line, line.first_difference), "31 forward.0: 11 normalize      O0 <- l0")
      << "the first operation on O that is not dropped";
  const auto is_wrong = [](double error) { return error > 0.0; };
  EXPECT_TRUE(std::ranges::all_of(line.results[0].by_row, is_wrong)) << "O stays 0";
}

TEST(BreakEffect, EveryBrokenRunCanBeSteppedBackAndForth) {
  Index steps = 0;
  for (const Algorithm& algorithm : algorithms()) {
    for (const bool stale : {false, true}) {
      RunSpec spec =
          run_of(algorithm.name, algorithm.has_backward ? PassKind::both : PassKind::forward);
      spec.problem.N = 10;  // the last tiles are smaller
      spec.problem.N_kv = 11;
      spec.stale_memory = stale;
      for (const std::string& broken : breaks_of(spec)) {
        ASSERT_FALSE(set_field(run_field("break"), broken, spec));
        const GpuDescription gpu = gpu_of(spec).value();
        const auto run = SteppedRun::create({.run = resolve(spec, gpu).value(), .gpu = gpu});
        ASSERT_TRUE(run) << broken;
        const Index last = run.value()->info()->step_count - 1;
        for (const Index step : {last, last / 2, last / 3, Index{-1}, last / 4, 3 * last / 4}) {
          EXPECT_EQ(run.value()->at(step, 9).step, step);
          ++steps;
        }
        spec.variant.broken = {};
      }
    }
  }
  EXPECT_GT(steps, 1000);
}

TEST(BreakEffect, NamesTheFirstWrongOperationAndTheFirstWrongStore) {
  const RunSpec spec = run_of("flash2", PassKind::forward);
  const BreakEffect found = effect(spec, "drop:forward:rescale:O");
  EXPECT_EQ(found.skipped_count, 9);
  // In column tile 0, O is 0 and rescaling it changes nothing
  EXPECT_EQ(place(found, found.first_skipped), "11 forward.0: 10 rescale        O0 <- alpha0!");
  EXPECT_EQ(place(found, found.first_difference), "21 forward.0: 10 accumulate     O0 <- P01! V1");
  EXPECT_EQ(place(found, found.first_wrong_store), "33 forward.0: 13 store          O0 <- O0!");
  ASSERT_EQ(found.results.size(), 2U);
  EXPECT_TRUE(found.results[0].deviation.is_wrong()) << "O";
  EXPECT_EQ(found.results[0].by_row.size(), 12U);
  EXPECT_FALSE(found.results[1].deviation.is_wrong()) << "LSE";
}

TEST(BreakEffect, FollowsTheErrorOfEachRow) {
  const BreakEffect found = effect(run_of("flash2", PassKind::forward), "drop:forward:rescale:O");
  std::vector<double> rows;
  for (const Deviation& tile : deviations_at(found, Tensor::O, true, 3, 1, found.step_count - 1)) {
    EXPECT_EQ(tile.by_row.size(), 4U);
    rows.insert(rows.end(), tile.by_row.begin(), tile.by_row.end());
  }
  EXPECT_EQ(rows, found.results[0].by_row);
  EXPECT_NE(std::ranges::find(rows, 0.0), rows.end()) << "some row's maximum is in the first tile";
  for (const TileDeviation& each : found.spread) {
    EXPECT_EQ(each.deviation.by_row.empty(),
              each.tile.tensor != Tensor::O || !each.deviation.is_wrong());
  }
}

TEST(BreakEffect, FollowsHowTheErrorSpreads) {
  const RunSpec spec = run_of("flash2", PassKind::forward);
  const BreakEffect found = effect(spec, "drop:forward:load:K@1.2");
  const Index first = found.first_difference->step;
  const auto wrong_tiles = [&](Tensor tensor, bool in_hbm, Index cols, Index step) {
    std::string text;
    for (const Deviation& each : deviations_at(found, tensor, in_hbm, 3, cols, step)) {
      text += each.is_wrong() ? 'x' : '.';
    }
    return text;
  };
  EXPECT_EQ(wrong_tiles(Tensor::S, false, 3, first - 1), ".........");
  EXPECT_EQ(wrong_tiles(Tensor::S, false, 3, first), ".....x...") << "S_12";
  EXPECT_EQ(wrong_tiles(Tensor::O, false, 1, first), "...");
  EXPECT_EQ(wrong_tiles(Tensor::O, true, 1, found.step_count), ".x.") << "no other row tile";
}

TEST(BreakEffect, ADroppedStoreIsTheFirstWrongOne) {
  const BreakEffect found = effect(run_of("flash2", PassKind::forward), "drop:forward:store:O");
  EXPECT_EQ(found.first_difference->step, found.first_skipped->step);
  EXPECT_EQ(found.first_wrong_store->step, found.first_skipped->step);
  EXPECT_TRUE(found.results[0].deviation.has_nan);
}

TEST(BreakEffect, SaysWhyNothingChanges) {
  const auto reason = [](const RunSpec& spec, std::string_view broken) {
    const BreakEffect found = effect(spec, broken);
    EXPECT_FALSE(found.changes_result()) << broken;
    return found.reasons.empty() ? std::string("none")
                                 : std::string(to_string(found.reasons[0].first));
  };
  const RunSpec flash2 = run_of("flash2", PassKind::forward);
  EXPECT_EQ(reason(flash2, "drop:forward:rescale:O@0.0"), "first_iteration");
  EXPECT_EQ(reason(flash2, "drop:forward:rescale:O@0.3"), "never_runs") << "of 3 column tiles";
  EXPECT_EQ(reason(flash2, "m=0"), "cancelled");
  RunSpec standard = run_of("standard", PassKind::forward, Mask::causal());
  EXPECT_EQ(reason(standard, "drop:scores:scores:S@1.0"), "masked") << "S_01 is hidden";
  EXPECT_EQ(reason(standard, "drop:output:accumulate:O@0.1"), "adds_zero");
}

TEST(BreakEffect, AnOperandThatIsReplacedIsFollowed) {
  const BreakEffect found = effect(run_of("flash2", PassKind::both), "D=0");
  EXPECT_EQ(found.skipped_count, 0);
  EXPECT_EQ(found.first_difference->op.kind, OpKind::row_dot);
  EXPECT_EQ(found.first_wrong_store->op.dest_tiles[0].tensor, Tensor::D);
  for (const ResultDeviation& result : found.results) {
    const bool through_ds = result.tensor == Tensor::dQ || result.tensor == Tensor::dK;
    EXPECT_EQ(result.deviation.is_wrong(), through_ds) << to_string(result.tensor);
  }
}

TEST(BreakEffect, TheGradientsOfAGroupOfHeadsAreCompared) {
  RunSpec spec = run_of("flash2", PassKind::backward);
  spec.problem.heads = 4;
  spec.problem.kv_heads = 2;
  const BreakEffect found = effect(spec, "drop:sum_heads:add:dV");
  ASSERT_EQ(found.results.size(), 3U);
  EXPECT_TRUE(found.results[2].deviation.is_wrong());
  EXPECT_FALSE(found.results[1].deviation.is_wrong());
}

TEST(BreakEffect, TooManyScoresAreRejected) {
  RunSpec spec = run_of("flash2", PassKind::forward);
  spec.problem.N = spec.problem.N_kv = 8192;
  spec.set_tiling({64, 64});
  const auto found = effect_of(spec, "alpha=1");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().field, "seq_len");
}

}  // namespace
}  // namespace attnscope
