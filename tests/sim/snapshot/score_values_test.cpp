/// S, P, dP and dS of a stepped run: of the whole head, and computed tile by tile during the run.

#include "sim/snapshot/score_values.h"

#include <gtest/gtest.h>

#include <cmath>

#include "reference/naive_attention.h"
#include "tests/sim/snapshot/stepped_run_helpers.h"
#include "tests/support/listed_block_mask.h"

namespace attnscope {
namespace {

using test::make_run;
using test::request_for;

test::WalkRequest shaped_backward(std::string_view algorithm) {
  test::WalkRequest request = request_for(algorithm, 48, 8, {16, 16}, Mask::causal());
  request.pass = PassKind::backward;
  request.round_to_storage = false;
  request.problem.score.soft_cap = 1.5;
  request.problem.score.alibi_slopes = {0.25};
  request.problem.score.dropout = {.probability = 0.25, .seed = 7};
  return request;
}

TEST(ScoreValues, GiveTheGradientsOfTheReference) {
  const test::WalkRequest request = shaped_backward("flash2");
  const AttentionInputs inputs = make_head_inputs(request.problem, request.inputs, 0, 0);
  const auto values = score_values(request.problem, inputs, true);
  const ForwardResult forward = naive_forward(request.problem, inputs);
  const Gradients gradients = naive_backward(request.problem, inputs, forward);
  const AttentionProblem& problem = request.problem;
  for (Index row = 0; row < problem.N; ++row) {
    for (Index key = 0; key < problem.N_kv; ++key) {
      const double LSE = forward.LSE.at(0, 0, row, 0);
      EXPECT_NEAR(values[1].at(row, key), std::exp(values[0].at(row, key) - LSE), 1e-12);
    }
    for (Index col = 0; col < problem.d; ++col) {
      double dQ = 0.0;
      for (Index key = 0; key < problem.N_kv; ++key) {
        dQ += problem.softmax_scale() * values[3].at(row, key) * inputs.K.at(0, 0, key, col);
      }
      EXPECT_NEAR(dQ, gradients.dQ.at(0, 0, row, col), 1e-12);
    }
  }
}

TEST(ScoreValues, AreZeroInARowThatSeesNoKey) {
  test::WalkRequest request = shaped_backward("block_sparse2");
  AttentionProblem& problem = request.problem;
  problem.block_mask = test::listed_block_mask({16, 16}, 3, {{0}, {}, {0, 2}});
  const auto values = score_values(problem, make_head_inputs(problem, request.inputs, 0, 0), true);
  for (Index row = 0; row < problem.N; ++row) {
    double sum = 0.0;
    for (Index key = 0; key < problem.N_kv; ++key) {
      sum += values[1].at(row, key);
      const bool sees = problem.attends(row, key);
      EXPECT_EQ(std::isinf(values[0].at(row, key)), !sees);
      EXPECT_EQ(values[1].at(row, key) > 0.0, sees);
      if (!sees) {
        EXPECT_EQ(values[3].at(row, key), 0.0);
      }
    }
    EXPECT_NEAR(sum, row / 16 == 1 ? 0.0 : 1.0, 1e-12);
  }
}

TEST(ScoreValues, AreThoseOfTheTilesOnChip) {
  for (const std::string_view algorithm : {"standard", "flash1", "flash2"}) {
    const auto run = make_run(shaped_backward(algorithm));
    const RunInfo& info = *run->info();
    std::array<int, kTensorCount> compared{};
    for (Index step = 0; step < info.step_count; ++step) {
      const Snapshot snapshot = run->at(step);
      // dS is complete once it is multiplied by the slope of the cap
      for (const SlotState& slot : snapshot.slots) {
        const bool is_complete = slot.tensor == Tensor::dS && snapshot.op.kind == OpKind::multiply;
        const bool is_product = slot.tensor == Tensor::dP && snapshot.op.kind == OpKind::dropout;
        if (!slot.valid || slot.values.values.empty() || !(is_complete || is_product)) continue;
        if (slot.tile.tensor != slot.tensor || slot.tile.j == kAllColumns) continue;
        const ValueTile& expected = info.scores(slot.tensor).values;
        const Index row = slot.tile.i * 16;
        const Index col = slot.tile.j * 16;
        for (Index r = 0; r < slot.values.rows; ++r) {
          for (Index c = 0; c < slot.values.cols; ++c) {
            if (row + r < col + c) continue;  // hidden
            EXPECT_NEAR(slot.values.at(r, c), expected.at(row + r, col + c), 1e-12);
          }
        }
        ++compared[static_cast<std::size_t>(slot.tensor)];
      }
    }
    if (algorithm == "standard") continue;  // computes them in place
    EXPECT_GT(compared[static_cast<std::size_t>(Tensor::dS)], 3) << algorithm;
    EXPECT_GT(compared[static_cast<std::size_t>(Tensor::dP)], 3) << algorithm;
  }
}

TEST(ScoreValues, AreKnownFromTheStepThatComputesThem) {
  const auto standard = make_run(request_for("standard", 64, 16, {16, 16}));
  const RunInfo& info = *standard->info();
  const ScoreMatrix& S = info.scores(Tensor::S);
  const ScoreMatrix& P = info.scores(Tensor::P);
  EXPECT_LT(S.complete_from, info.launches[0].end);
  EXPECT_GE(P.complete_from, info.launches[1].begin);
  EXPECT_LT(P.complete_from, info.launches[1].end);
  EXPECT_LT(info.scores(Tensor::dP).complete_from, 0);
  EXPECT_FALSE(P.is_known(info.launches[1].begin, 0, 0, info.Tc));
  EXPECT_TRUE(P.is_known(P.complete_from, 63, 3, info.Tc));
  // The softmax works on groups of rows: the first is known while the last is not
  EXPECT_TRUE(P.is_known(P.complete_from - 1, 0, 3, info.Tc));
  EXPECT_FALSE(P.is_known(P.complete_from - 1, 63, 3, info.Tc));
}

/// Expects equal values in the slots of a stepped run with all values and of one with only those of
/// a row tile.
void expect_equal_values(const Snapshot& all, const Snapshot& tile, int& compared) {
  ASSERT_EQ(all.slots.size(), tile.slots.size());
  for (std::size_t k = 0; k < all.slots.size(); ++k) {
    const SlotState& expected = all.slots[k];
    const SlotState& found = tile.slots[k];
    const bool sums_rows = found.tensor == Tensor::dK || found.tensor == Tensor::dV;
    if (sums_rows) {
      EXPECT_TRUE(found.values.values.empty());
    }
    if (!found.valid || found.values.values.empty()) continue;
    ASSERT_EQ(found.values.values.size(), expected.values.values.size());
    for (std::size_t v = 0; v < found.values.values.size(); ++v) {
      EXPECT_EQ(found.values.values[v], expected.values.values[v])
          << to_string(found.tensor) << " at " << all.step;
    }
    ++compared;
  }
  EXPECT_EQ(tile.row_step, all.row_step);
  EXPECT_EQ(tile.softmax_row.m, all.softmax_row.m);
  EXPECT_EQ(tile.softmax_row.l, all.softmax_row.l);
  EXPECT_EQ(tile.softmax_row.O, all.softmax_row.O);
  EXPECT_EQ(tile.gradient_row.dS, all.gradient_row.dS);
}

TEST(RowSlice, HasTheValuesThatTheWholeHeadHas) {
  for (const std::string_view algorithm :
       {"standard", "flash1", "flash2", "block_sparse2", "split_kv"}) {
    for (const PassKind pass : {PassKind::forward, PassKind::backward, PassKind::both}) {
      test::WalkRequest request = request_for(algorithm, 48, 8, {16, 16}, Mask::causal());
      if (pass != PassKind::forward && algorithm == "split_kv") continue;
      if (algorithm == "block_sparse2") request.block_mask = BlockPattern{};
      request.pass = pass;
      const auto all = make_run(request);
      ASSERT_TRUE(all->info()->has_values);
      const auto tile = test::make_sliced_run(request);
      ASSERT_TRUE(tile->info()->has_tile_values);
      int compared = 0;
      for (Index step = 0; step < all->info()->step_count; ++step) {
        expect_equal_values(all->at(step, 21, 3), tile->at(step, 21, 3), compared);
        if (testing::Test::HasFailure()) return;
      }
      for (const Index step : {all->info()->step_count - 2, Index{7}, Index{20}}) {
        expect_equal_values(all->at(step, 37, 1), tile->at(step, 37, 1), compared);
      }
      EXPECT_GT(compared, 20) << algorithm;
    }
  }
}

TEST(RowSlice, ShowsTheTileUnderThePlayheadOfALargeProblem) {
  const auto run = make_run(request_for("flash2", 4096, 32, {64, 64}));
  ASSERT_FALSE(run->info()->has_values);
  ASSERT_TRUE(run->info()->has_tile_values);
  const Index query = 1000;
  const StepSpan& block = run->info()->outer[static_cast<std::size_t>(query / 64)];
  const Snapshot last = run->at(block.end - 4, query, 5);
  ASSERT_TRUE(last.softmax_row.error);
  EXPECT_LT(*last.softmax_row.error, 1e-2);
  EXPECT_EQ(last.softmax_row.keys_seen, 4096);
  ASSERT_TRUE(last.softmax_methods);
  // In other tiles, the row stays unchanged
  const Snapshot later = run->at(block.end + 500, query, 5);
  EXPECT_EQ(later.row_step, block.end - 1);
  EXPECT_EQ(later.softmax_row.m, last.softmax_row.m);
}

}  // namespace
}  // namespace attnscope
