/// Walking a run: every step can be reached from any other, and is the same whichever way it was
/// reached; playing and stepping give the same counts.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "reference/eigen_view.h"
#include "reference/naive_attention.h"
#include "sim/schedule/catalog.h"
#include "sim/snapshot/stepped_run.h"
#include "tests/support/listed_block_mask.h"

namespace attnscope {
namespace {

SteppedRequest request_for(std::string_view algorithm, Index N, Index d, Tiling tiling,
                           Mask mask = Mask::none()) {
  SteppedRequest request;
  request.simulation.problem = {.N = N, .N_kv = N, .d = d, .dtype = DType::fp16, .mask = mask};
  request.simulation.algorithm = algorithm;
  request.simulation.tiling = tiling;
  request.simulation.gpu = load_gpu("h200").value();
  return request;
}

std::unique_ptr<SteppedRun> make_run(const SteppedRequest& request) {
  auto run = SteppedRun::create(request);
  EXPECT_TRUE(run.ok()) << run.error().message;
  return std::move(run).value();
}

/// All that a snapshot shows, as numbers; NaN and empty become recognisable values.
std::vector<double> fingerprint(const Snapshot& snapshot) {
  std::vector<double> all{static_cast<double>(snapshot.step), static_cast<double>(snapshot.launch),
                          static_cast<double>(snapshot.block)};
  const auto add = [&all](double value) { all.push_back(std::isnan(value) ? -12345.0 : value); };
  for (const SlotState& slot : snapshot.slots) {
    all.push_back(slot.valid ? 1 : 0);
    if (!slot.valid) continue;
    all.push_back(slot.tile.i);
    all.push_back(slot.tile.j);
    for (const double value : slot.values.values) add(value);
  }
  for (const HbmTensorState& tensor : snapshot.hbm) {
    for (const std::uint8_t written : tensor.written) all.push_back(written);
  }
  const SoftmaxRow& row = snapshot.softmax_row;
  for (const auto& value : {row.m_prev, row.row_max, row.m, row.alpha, row.beta, row.l_prev,
                            row.row_sum, row.l, row.O_prev, row.PV, row.O, row.error}) {
    add(value.value_or(-54321.0));
  }
  for (const auto* part : {&snapshot.gradient_row.S, &snapshot.gradient_row.P,
                           &snapshot.gradient_row.dP, &snapshot.gradient_row.dS}) {
    for (const double value : *part) add(value);
  }
  add(snapshot.gradient_row.dQ.value_or(-54321.0));
  for (const Bytes& bytes : snapshot.bytes_so_far) {
    all.push_back(static_cast<double>(bytes.read_bytes));
    all.push_back(static_cast<double>(bytes.write_bytes));
  }
  all.push_back(static_cast<double>(snapshot.matmul_flops_so_far));
  all.push_back(static_cast<double>(snapshot.other_flops_so_far));
  for (const WarpTraffic& warps : snapshot.op_warps) {
    all.push_back(static_cast<double>(warps.shared_read_bytes));
    all.push_back(static_cast<double>(warps.barriers));
  }
  return all;
}

struct Walked {
  std::string_view algorithm;
  PassKind pass;
};

class EveryAlgorithm : public testing::TestWithParam<Walked> {};

TEST_P(EveryAlgorithm, AStepIsTheSameWhicheverWayItIsReached) {
  for (const Mask& mask : {Mask::none(), Mask::causal()}) {
    SteppedRequest request = request_for(GetParam().algorithm, 40, 8, {16, 8}, mask);
    request.simulation.pass = GetParam().pass;
    const auto forwards = make_run(request);
    const Index count = forwards->info()->step_count;
    std::vector<std::vector<double>> expected;
    for (Index step = -1; step < count; ++step) {
      expected.push_back(fingerprint(forwards->at(step, 5, 3)));
    }
    const auto jumping = make_run(request);
    std::mt19937 random(1);
    for (int n = 0; n < 300; ++n) {
      const auto step = static_cast<Index>(random() % static_cast<std::uint64_t>(count + 1)) - 1;
      ASSERT_EQ(fingerprint(jumping->at(step, 5, 3)), expected[static_cast<std::size_t>(step + 1)])
          << "step " << step;
    }
  }
}

TEST_P(EveryAlgorithm, TheLastStepHasTheTotalsOfTheWholePass) {
  SteppedRequest request = request_for(GetParam().algorithm, 100, 16, {32, 16});
  request.simulation.pass = GetParam().pass;
  const auto run = make_run(request);
  const RunInfo& info = *run->info();
  const Snapshot last = run->at(info.step_count - 1);
  EXPECT_EQ(last.bytes_so_far, info.totals.by_tensor);
  EXPECT_EQ(last.matmul_flops_so_far, info.totals.matmul_flops);
  EXPECT_EQ(last.other_flops_so_far, info.totals.non_matmul_flops);
  EXPECT_EQ(info.step_count, info.totals.tile_ops);
}

TEST_P(EveryAlgorithm, WarpsOfAllStepsAddUpToThoseOfThePass) {
  SteppedRequest request = request_for(GetParam().algorithm, 40, 8, {16, 8});
  request.simulation.pass = GetParam().pass;
  const auto run = make_run(request);
  const RunInfo& info = *run->info();
  WarpsByPartition sum{};
  for (Index step = 0; step < info.step_count; ++step) {
    const WarpsByPartition of_op = run->at(step).op_warps;
    for (std::size_t k = 0; k < kWarpPartitions; ++k) {
      sum[k] += of_op[k];
      EXPECT_LE(of_op[k].barriers, 2);
    }
  }
  EXPECT_EQ(sum, info.head_warps);
  const bool has_partition = info.algorithm->warps.has_value();
  EXPECT_EQ(info.head_warps[0].barriers > 0, has_partition);
}

TEST_P(EveryAlgorithm, OuterSpansAndLaunchesCoverAllSteps) {
  SteppedRequest request = request_for(GetParam().algorithm, 64, 16, {16, 16});
  request.simulation.pass = GetParam().pass;
  const auto run = make_run(request);
  const RunInfo& info = *run->info();
  Index launch_end = 0;
  for (const StepSpan& span : info.launches) {
    EXPECT_EQ(span.begin, launch_end);
    launch_end = span.end;
  }
  EXPECT_EQ(launch_end, info.step_count);
  Index outer_end = 0;
  for (const StepSpan& span : info.outer) {
    EXPECT_EQ(span.begin, outer_end) << span.label;
    EXPECT_GT(span.end, span.begin) << span.label;
    outer_end = span.end;
  }
  EXPECT_EQ(outer_end, info.step_count);
  EXPECT_EQ(info.tile_steps.empty(), false);
}

TEST_P(EveryAlgorithm, OneTileHasASpanInEveryLaunch) {
  SteppedRequest request = request_for(GetParam().algorithm, 16, 16, {16, 16});
  request.simulation.pass = GetParam().pass;
  const auto run = make_run(request);
  const RunInfo& info = *run->info();
  ASSERT_FALSE(info.outer.empty());
  EXPECT_EQ(info.outer.front().begin, 0);
  EXPECT_EQ(info.outer.back().end, info.step_count);
  EXPECT_GE(info.outer.size(), info.launches.size());
}

std::vector<Walked> walked() {
  std::vector<Walked> all;
  for (const Algorithm& algorithm : algorithms()) {
    for (const PassKind pass : {PassKind::forward, PassKind::backward, PassKind::both}) {
      if (pass != PassKind::forward && !algorithm.has_backward()) continue;
      all.push_back({algorithm.name, pass});
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(EveryPass, EveryAlgorithm, testing::ValuesIn(walked()),
                         [](const auto& test) {
                           return fmt::format("{}_{}", test.param.algorithm,
                                              to_string(test.param.pass));
                         });

TEST(SteppedRun, EndsWithTheGradientsOfTheReferenceOnChip) {
  SteppedRequest request = request_for("flash2", 64, 16, {16, 16});
  request.simulation.pass = PassKind::backward;
  request.round_to_storage = false;
  const auto run = make_run(request);
  const AttentionInputs inputs = make_head_inputs(request.simulation.problem, request.inputs, 0, 0);
  const Gradients gradients = naive_backward(request.simulation.problem, inputs,
                                             naive_forward(request.simulation.problem, inputs));
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

TEST(SteppedRun, EndsWithTheReferenceOnChipWhenValuesAreNotRounded) {
  SteppedRequest request = request_for("flash2", 64, 16, {16, 16});
  request.round_to_storage = false;
  const auto run = make_run(request);
  const RunInfo& info = *run->info();
  // Before the final store, O_3 on chip is the reference's last row tile
  const Snapshot last = run->at(info.step_count - 3);
  int checked = 0;
  for (const SlotState& slot : last.slots) {
    if (slot.tensor != Tensor::O) continue;
    ASSERT_TRUE(slot.valid);
    for (Index row = 0; row < 16; ++row) {
      for (Index col = 0; col < 16; ++col) {
        EXPECT_NEAR(slot.values.at(row, col), info.reference_O.at(48 + row, col), 1e-12);
        ++checked;
      }
    }
  }
  EXPECT_EQ(checked, 16 * 16);
}

TEST(SteppedRun, ABlockKnowsItsTileFromItsFirstOperation) {
  const auto run = make_run(request_for("standard", 64, 16, {16, 16}));
  for (Index step = 0; step < run->info()->launches[0].end; ++step) {
    const Snapshot snapshot = run->at(step);
    EXPECT_EQ(snapshot.i, snapshot.block / 4) << step;
    EXPECT_EQ(snapshot.j, snapshot.block % 4) << step;
  }
}

TEST(SteppedRun, StandardsRowStandsInEveryLaunchWhereTheChosenOneStandsInItsTile) {
  const auto run = make_run(request_for("standard", 64, 16, {16, 16}));
  const RunInfo& info = *run->info();
  for (Index step = 0; step < info.step_count; ++step) {
    const Snapshot snapshot = run->at(step, 21, 0);
    const SoftmaxRow& row = snapshot.softmax_row;
    if (!row.known) continue;
    const TileGrid& grid = info.grids[static_cast<std::size_t>(snapshot.launch)];
    EXPECT_EQ(row.query,
              grid.row_begin(row.i) + std::min(21 % grid.tiling().Br, grid.rows_of(row.i) - 1));
    EXPECT_LT(row.error.value_or(0.0), 2e-2);
  }
  EXPECT_TRUE(run->at(info.step_count - 2, 21, 0).softmax_row.error.has_value());
}

SteppedRequest backward_request(std::string_view algorithm, Mask mask) {
  SteppedRequest request = request_for(algorithm, 48, 8, {16, 8}, mask);
  request.simulation.pass = PassKind::backward;
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
  const SteppedRequest request = backward_request("flash2", Mask::causal());
  const auto run = make_run(request);
  const AttentionInputs inputs = make_head_inputs(request.simulation.problem, request.inputs, 0, 0);
  const AttentionProblem& problem = request.simulation.problem;
  const Gradients reference = naive_backward(problem, inputs, naive_forward(problem, inputs));
  const Index query = 21;  // of row tile 1, which sees the keys of column tiles 0 to 3
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
  SteppedRequest request = request_for("split_kv", 4, 16, {16, 16});
  request.simulation.problem.N_kv = 128;
  request.simulation.splits = 4;
  request.round_to_storage = false;
  const auto run = make_run(request);
  int checked = 0;
  for (Index step = 0; step < run->info()->step_count; ++step) {
    const Snapshot snapshot = run->at(step, 2, 3);
    const SoftmaxRow& row = snapshot.softmax_row;
    if (snapshot.op.kind != OpKind::accumulate || !row.error) continue;
    EXPECT_LT(*row.error, 1e-12);
    EXPECT_EQ(row.keys_seen, row.j % 2 == 0 ? 16 : 32);  // two column tiles a split
    ++checked;
  }
  EXPECT_EQ(checked, 8);
}

TEST(SteppedRun, SoftmaxRowFollowsTheFormulas) {
  SteppedRequest request = request_for("flash2", 64, 16, {16, 16});
  request.round_to_storage = false;
  const auto run = make_run(request);
  int checked = 0;
  for (Index step = 0; step < run->info()->step_count; ++step) {
    const Snapshot snapshot = run->at(step, 37, 3);
    const SoftmaxRow& row = snapshot.softmax_row;
    if (snapshot.op.kind != OpKind::accumulate) continue;
    ASSERT_TRUE(row.m && row.alpha && row.l && row.O && row.row_sum && row.PV && row.error);
    EXPECT_EQ(row.row_in_tile, 5);
    EXPECT_DOUBLE_EQ(*row.m, std::max(*row.m_prev, *row.row_max));
    EXPECT_DOUBLE_EQ(*row.alpha, std::exp(*row.m_prev - *row.m));
    EXPECT_NEAR(*row.l, *row.alpha * *row.l_prev + *row.row_sum, 1e-12);
    EXPECT_NEAR(*row.O, *row.alpha * *row.O_prev + *row.PV, 1e-12);
    EXPECT_LT(*row.error, 1e-12);
    ++checked;
  }
  EXPECT_EQ(checked, 16);
}

TEST(SteppedRun, CausalTilesAboveTheDiagonalHaveNoLife) {
  const auto run = make_run(request_for("flash2", 64, 16, {16, 16}, Mask::causal()));
  const RunInfo& info = *run->info();
  for (Index i = 0; i < info.Tr; ++i) {
    for (Index j = 0; j < info.Tc; ++j) {
      const TileLife& life = info.score_tiles[static_cast<std::size_t>(i * info.Tc + j)];
      EXPECT_EQ(life.first >= 0, j <= i) << i << ", " << j;
    }
  }
}

TEST(SteppedRun, ThePositionIsTheTileThatTheOperationWorksOn) {
  for (const std::string_view algorithm : {"flash1", "flash2"}) {
    const auto run = make_run(request_for(algorithm, 64, 16, {16, 16}));
    Index products = 0;
    for (Index step = 0; step < run->info()->step_count; ++step) {
      const Snapshot snapshot = run->at(step);
      if (snapshot.op.kind != OpKind::scores) continue;
      ++products;
      EXPECT_EQ(snapshot.i, snapshot.op.dest_tiles[0].i) << algorithm << ", step " << step;
      EXPECT_EQ(snapshot.j, snapshot.op.dest_tiles[0].j) << algorithm << ", step " << step;
    }
    EXPECT_EQ(products, 16);
  }
}

TEST(SteppedRun, ALargeProblemIsWalkedWithoutValues) {
  const auto run = make_run(request_for("flash2", 16384, 64, {128, 128}));
  EXPECT_FALSE(run->info()->has_values);
  const Snapshot snapshot = run->at(run->info()->step_count / 2);
  EXPECT_FALSE(snapshot.what.empty());
  EXPECT_GT(of(snapshot.bytes_so_far, Tensor::K).read_bytes, 0);
  const Snapshot last = run->at(run->info()->step_count - 1);
  EXPECT_EQ(last.bytes_so_far, run->info()->totals.by_tensor);
}

TEST(SteppedRun, KnowsWhatSlotsHoldWithoutValues) {
  // The same 4 x 4 tiles, once too large for values: slots hold the same tiles at every step
  for (const char* algorithm : {"flash1", "flash2"}) {
    const auto with_values = make_run(request_for(algorithm, 64, 4, {16, 16}, Mask::causal()));
    SteppedRequest large = request_for(algorithm, 4096, 4, {1024, 1024}, Mask::causal());
    large.simulation.allow_overflow = true;
    const auto without = make_run(large);
    ASSERT_FALSE(without->info()->has_values);
    ASSERT_EQ(without->info()->step_count, with_values->info()->step_count);
    for (Index step = -1; step < without->info()->step_count; ++step) {
      const Snapshot expected = with_values->at(step);
      const Snapshot found = without->at(step);
      ASSERT_EQ(found.slots.size(), expected.slots.size());
      for (std::size_t k = 0; k < found.slots.size(); ++k) {
        SCOPED_TRACE(std::string(to_string(found.slots[k].tensor)) + " at " + std::to_string(step));
        ASSERT_EQ(found.slots[k].valid, expected.slots[k].valid);
        if (!found.slots[k].valid) continue;
        EXPECT_EQ(found.slots[k].tile.i, expected.slots[k].tile.i);
        EXPECT_EQ(found.slots[k].tile.j, expected.slots[k].tile.j);
      }
    }
  }
}

TEST(SteppedRun, RefusesWhatSimulateRefuses) {
  const auto run = SteppedRun::create(request_for("flash2", 4096, 128, {2048, 2048}));
  ASSERT_FALSE(run.ok());
  EXPECT_EQ(run.error().kind, Error::Kind::invalid_request);
  EXPECT_NE(run.error().message.find("does not fit"), std::string::npos) << run.error().message;
}

TEST(SteppedRun, PaddingHasItsPlaceInTheOuterLoop) {
  SteppedRequest request = request_for("flash1", 32, 16, {16, 16});
  request.simulation.problem.key_lengths = {0};
  request.simulation.pass = PassKind::backward;
  const auto run = make_run(request);
  ASSERT_EQ(run->info()->outer.size(), 2U);
  EXPECT_EQ(run->info()->outer[0].begin, 0);
  EXPECT_EQ(run->info()->outer[1].label, "j = 1");
}

TEST(SteppedRun, RefusesAPassWithoutAnyStep) {
  SteppedRequest request = request_for("block_sparse", 32, 16, {16, 16});
  request.simulation.problem.block_mask = test::listed_block_mask({16, 16}, 2, {{}, {}});
  request.simulation.skip_unused_kv = true;
  const auto run = SteppedRun::create(request);
  ASSERT_FALSE(run.ok());
  EXPECT_EQ(run.error().kind, Error::Kind::invalid_request);
  EXPECT_NE(run.error().message.find("no step to walk"), std::string::npos) << run.error().message;
}

TEST(SteppedRun, CanBeCancelled) {
  const std::atomic<bool> cancel = true;
  const auto run = SteppedRun::create(request_for("flash1", 1024, 64, {32, 32}), {}, &cancel);
  ASSERT_FALSE(run.ok());
  EXPECT_EQ(run.error().message, "cancelled");
}

}  // namespace
}  // namespace attnscope
