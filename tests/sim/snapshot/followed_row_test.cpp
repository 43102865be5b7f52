/// The numbers of a stepped run: its chosen row follows the formulas, and ends with the reference.

#include <gtest/gtest.h>

#include <cmath>

#include "reference/eigen_view.h"
#include "reference/naive_attention.h"
#include "tests/sim/snapshot/stepped_run_helpers.h"

namespace attnscope {
namespace {

using test::make_run;
using test::request_for;

TEST(SteppedRun, EndsWithTheGradientsOfTheReferenceOnChip) {
  test::WalkRequest request = request_for("flash2", 64, 16, {16, 16});
  request.pass = PassKind::backward;
  request.round_to_storage = false;
  const auto run = make_run(request);
  const AttentionInputs inputs = make_head_inputs(request.problem, request.inputs, 0, 0);
  const Gradients gradients =
      naive_backward(request.problem, inputs, naive_forward(request.problem, inputs));
  // The last block of "backward" holds dK_3 and dV_3 before it stores them
  const StepSpan& backward = run->info()->launches[1];
  ASSERT_EQ(backward.label, "backward");
  const Snapshot snapshot = run->at(backward.end - 3);
  int checked = 0;
  for (const SlotState& slot : snapshot.slots) {
    if (slot.tensor != Tensor::dK && slot.tensor != Tensor::dV) continue;
    ASSERT_TRUE(slot.valid);
    const HeadTensor& expected = slot.tensor == Tensor::dK ? gradients.dK : gradients.dV;
    for (Index row = 0; row < 16; ++row) {
      for (Index col = 0; col < 16; ++col) {
        EXPECT_NEAR(slot.values.at(row, col), expected.at(0, 0, 48 + row, col), 1e-12);
        ++checked;
      }
    }
  }
  EXPECT_EQ(checked, 2 * 16 * 16);
}

TEST(SteppedRun, FollowsARowOfAConsumerInItsOwnSlots) {
  test::WalkRequest request = request_for("flash2", 64, 16, {32, 16});
  request.variant = {.stages = 2, .consumers = 2};
  request.round_to_storage = false;
  const auto run = make_run(request);
  const RunInfo& info = *run->info();
  for (const Index query : {3, 21, 37, 63}) {
    Index keys_seen = 0;
    for (Index step = 0; step < info.step_count; ++step) {
      const SoftmaxRow row = run->at(step, query).softmax_row;
      if (!row.known) continue;
      EXPECT_EQ(row.i, query / 32);
      EXPECT_EQ(row.row_in_tile, query % 16) << "of the consumer's share";
      EXPECT_LT(row.error.value_or(0.0), 1e-12) << query << " at step " << step;
      keys_seen = std::max(keys_seen, row.keys_seen);
    }
    EXPECT_EQ(keys_seen, 64) << query;
  }
}

TEST(SteppedRun, FollowsARowThroughTheConsumersOfABackwardPass) {
  test::WalkRequest request = request_for("flash2", 64, 16, {32, 16});
  request.pass = PassKind::backward;
  request.round_to_storage = false;
  const auto rows_of = [&](Index query) {
    const auto run = make_run(request);
    std::vector<GradientRow> rows(4);  // the row of each column tile, once complete
    for (Index step = 0; step < run->info()->step_count; ++step) {
      const GradientRow row = run->at(step, query).gradient_row;
      if (row.known && row.j >= 0 && row.dQ) rows[static_cast<std::size_t>(row.j)] = row;
    }
    return rows;
  };
  for (const Index query : {3, 21, 37, 63}) {
    request.variant = {};
    const std::vector<GradientRow> one = rows_of(query);
    request.variant = {.stages = 2, .consumers = 2};
    const std::vector<GradientRow> agents = rows_of(query);
    for (std::size_t j = 0; j < 4; ++j) {
      EXPECT_EQ(agents[j].row_in_tile, query % 32);
      for (const auto part :
           {&GradientRow::S, &GradientRow::P, &GradientRow::dP, &GradientRow::dS}) {
        ASSERT_EQ((one[j].*part).size(), 16U);
        ASSERT_EQ((agents[j].*part).size(), 16U);
        for (std::size_t key = 0; key < 16; ++key) {
          EXPECT_NEAR((agents[j].*part)[key], (one[j].*part)[key], 1e-12) << query << " " << j;
        }
      }
      EXPECT_EQ(agents[j].LSE, one[j].LSE);
      EXPECT_EQ(agents[j].D, one[j].D);
      ASSERT_TRUE(agents[j].dQ && agents[j].dQ_part && one[j].dQ_part);
      EXPECT_NEAR(*agents[j].dQ_part, *one[j].dQ_part, 1e-12);
      EXPECT_NEAR(*agents[j].dQ, *one[j].dQ, 1e-12);
    }
  }
}

TEST(SteppedRun, EndsWithTheReferenceOnChipWhenValuesAreNotRounded) {
  test::WalkRequest request = request_for("flash2", 64, 16, {16, 16});
  request.round_to_storage = false;
  const auto run = make_run(request);
  const RunInfo& info = *run->info();
  const ForwardResult reference =
      naive_forward(request.problem, make_head_inputs(request.problem, request.inputs, 0, 0));
  // Before the final store, O_3 on chip is the reference's last row tile
  const Snapshot last = run->at(info.step_count - 3);
  int checked = 0;
  for (const SlotState& slot : last.slots) {
    if (slot.tensor != Tensor::O) continue;
    ASSERT_TRUE(slot.valid);
    for (Index row = 0; row < 16; ++row) {
      for (Index col = 0; col < 16; ++col) {
        EXPECT_NEAR(slot.values.at(row, col), reference.O.at(0, 0, 48 + row, col), 1e-12);
        ++checked;
      }
    }
  }
  EXPECT_EQ(checked, 16 * 16);
}

TEST(SteppedRun, FollowsTheChosenRowAndNoOtherThroughTheWholeRun) {
  for (const std::string_view algorithm : {"standard", "flash1", "flash2"}) {
    const auto run = make_run(request_for(algorithm, 64, 16, {16, 16}));
    const RunInfo& info = *run->info();
    Index left = 0;
    for (Index step = 0; step < info.step_count; ++step) {
      const Snapshot snapshot = run->at(step, 21, 0);
      const SoftmaxRow& row = snapshot.softmax_row;
      ASSERT_LE(snapshot.row_step, step);
      if (!row.known) continue;
      EXPECT_EQ(row.query, 21) << algorithm << step;
      const TileGrid& grid =
          info.grids[static_cast<std::size_t>(run->at(snapshot.row_step).launch)];
      EXPECT_EQ(row.row_in_tile, 21 - grid.row_begin(row.i));
      EXPECT_LT(row.error.value_or(0.0), 2e-2);
      if (snapshot.row_step == step) continue;
      // In other tiles, the row is as its last operation left it
      ++left;
      const SoftmaxRow then = run->at(snapshot.row_step, 21, 0).softmax_row;
      EXPECT_EQ(row.m, then.m);
      EXPECT_EQ(row.l, then.l);
      EXPECT_EQ(row.O, then.O);
      EXPECT_EQ(row.error, then.error);
    }
    EXPECT_GT(left, info.step_count / 4) << algorithm;
  }
}

TEST(SteppedRun, ARowThatWasNotReachedYetIsUnknown) {
  const auto run = make_run(request_for("flash2", 64, 16, {16, 16}));
  const Index begin = run->info()->outer[2].begin;
  EXPECT_EQ(run->at(begin - 1, 40, 0).row_step, -1);
  EXPECT_FALSE(run->at(begin - 1, 40, 0).softmax_row.known);
  EXPECT_GE(run->at(begin + 4, 40, 0).row_step, begin);
}

test::WalkRequest backward_request(std::string_view algorithm, Mask mask) {
  test::WalkRequest request = request_for(algorithm, 48, 8, {16, 8}, mask);
  request.pass = PassKind::backward;
  request.round_to_storage = false;
  return request;
}

TEST(SteppedRun, TheGradientRowFollowsTheFormulasInEveryTile) {
  for (const std::string_view algorithm : {"standard", "flash1", "flash2"}) {
    for (const Mask& mask : {Mask::none(), Mask::causal()}) {
      const auto run = make_run(backward_request(algorithm, mask));
      const Index query = 21;
      Index checked = 0;
      for (Index step = 0; step < run->info()->step_count; ++step) {
        const GradientRow row = run->at(step, query, 3).gradient_row;
        if (row.dS.empty()) continue;
        if (row.P.size() == row.dS.size() && row.dP.size() == row.dS.size() && row.D) {
          for (std::size_t k = 0; k < row.dS.size(); ++k) {
            EXPECT_NEAR(row.dS[k], row.P[k] * (row.dP[k] - *row.D), 1e-14);
            if (!row.LSE) continue;
            EXPECT_NEAR(row.P[k], std::exp(row.S[k] - *row.LSE), 1e-14);
          }
          ++checked;
        }
      }
      EXPECT_GT(checked, 10) << algorithm;
    }
  }
}

TEST(SteppedRun, TheLastAddToDqGivesTheReference) {
  const test::WalkRequest request = backward_request("flash2", Mask::causal());
  const auto run = make_run(request);
  const AttentionInputs inputs = make_head_inputs(request.problem, request.inputs, 0, 0);
  const AttentionProblem& problem = request.problem;
  const Gradients reference = naive_backward(problem, inputs, naive_forward(problem, inputs));
  const Index query = 21;  // a row of tile 1, which sees the keys of column tiles 0 to 3
  double dQ = 0.0;
  std::size_t adders = 0;
  for (Index step = 0; step < run->info()->step_count; ++step) {
    const Snapshot snapshot = run->at(step, query, 3);
    if (snapshot.op.kind != OpKind::atomic_add || snapshot.op.dest_tiles[0].i != 1) continue;
    ASSERT_TRUE(snapshot.gradient_row.dQ && snapshot.gradient_row.dQ_part);
    EXPECT_EQ(snapshot.gradient_row.query, query);
    EXPECT_NEAR(*snapshot.gradient_row.dQ,
                *snapshot.gradient_row.dQ_prev + *snapshot.gradient_row.dQ_part, 1e-15);
    dQ = *snapshot.gradient_row.dQ;
    adders = snapshot.adders.size();
    EXPECT_EQ(snapshot.adders_whole, 4);
    EXPECT_EQ(snapshot.adders.back(), snapshot.block);
  }
  EXPECT_EQ(adders, 4U);
  EXPECT_NEAR(dQ, head_matrix(reference.dQ, 0, 0)(query, 3), 1e-12);
}

TEST(SteppedRun, ASplitIsComparedWithAttentionOverItsOwnKeys) {
  test::WalkRequest request = request_for("split_kv", 4, 16, {16, 16});
  request.problem.N_kv = 128;
  request.splits = 4;
  request.round_to_storage = false;
  const auto run = make_run(request);
  int checked = 0;
  for (Index step = 0; step < run->info()->step_count; ++step) {
    const Snapshot snapshot = run->at(step, 2, 3);
    const SoftmaxRow& row = snapshot.softmax_row;
    if (snapshot.op.kind != OpKind::accumulate || !row.error) continue;
    EXPECT_LT(*row.error, 1e-12);
    EXPECT_EQ(row.keys_seen, row.j % 2 == 0 ? 16 : 32);  // two column tiles per split
    ++checked;
  }
  EXPECT_EQ(checked, 8);
}

TEST(SteppedRun, SoftmaxRowFollowsTheFormulas) {
  test::WalkRequest request = request_for("flash2", 64, 16, {16, 16});
  request.round_to_storage = false;
  const auto run = make_run(request);
  int checked = 0;
  for (Index step = 0; step < run->info()->step_count; ++step) {
    const Snapshot snapshot = run->at(step, 37, 3);
    const SoftmaxRow& row = snapshot.softmax_row;
    if (snapshot.op.kind != OpKind::accumulate || snapshot.row_step != step) continue;
    ASSERT_TRUE(row.m && row.alpha && row.l && row.O && row.row_sum && row.PV && row.error);
    EXPECT_EQ(row.row_in_tile, 5);
    EXPECT_DOUBLE_EQ(*row.m, std::max(*row.m_prev, *row.row_max));
    EXPECT_DOUBLE_EQ(*row.alpha, std::exp(*row.m_prev - *row.m));
    EXPECT_NEAR(*row.l, *row.alpha * *row.l_prev + *row.row_sum, 1e-12);
    EXPECT_NEAR(*row.O, *row.alpha * *row.O_prev + *row.PV, 1e-12);
    EXPECT_LT(*row.error, 1e-12);
    ++checked;
  }
  EXPECT_EQ(checked, 4);
}

}  // namespace
}  // namespace attnscope
