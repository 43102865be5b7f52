/// Stepping through a run: every step can be reached from any other, and is the same in each case;
/// playing and stepping give the same counts.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "reference/naive_attention.h"
#include "sim/schedule/algorithm.h"
#include "tests/sim/snapshot/stepped_run_helpers.h"
#include "tests/support/listed_block_mask.h"

namespace attnscope {
namespace {

using test::make_run;
using test::request_for;

/// Everything that a snapshot shows, as numbers; NaN and empty become recognisable values.
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
    test::WalkRequest request = request_for(GetParam().algorithm, 40, 8, {16, 8}, mask);
    request.pass = GetParam().pass;
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
  test::WalkRequest request = request_for(GetParam().algorithm, 100, 16, {32, 16});
  request.pass = GetParam().pass;
  const auto run = make_run(request);
  const RunInfo& info = *run->info();
  const Snapshot last = run->at(info.step_count - 1);
  EXPECT_EQ(last.bytes_so_far, info.totals.by_tensor);
  EXPECT_EQ(last.matmul_flops_so_far, info.totals.matmul_flops);
  EXPECT_EQ(last.other_flops_so_far, info.totals.non_matmul_flops);
  EXPECT_EQ(info.step_count, info.totals.tile_ops);
}

TEST_P(EveryAlgorithm, GroupedHeadsEndWithTheGradientsOfTheirKvHead) {
  if (GetParam().pass == PassKind::forward) return;
  test::WalkRequest request = request_for(GetParam().algorithm, 40, 8, {16, 8});
  AttentionProblem& problem = request.problem;
  problem.heads = 6;
  problem.kv_heads = 2;
  problem.batch = 2;
  request.pass = GetParam().pass;
  request.round_to_storage = false;
  request.batch = 1;
  request.head = 4;  // not the last of its group
  const AttentionInputs inputs = make_inputs(problem, request.inputs);
  const Gradients expected = naive_backward(problem, inputs, naive_forward(problem, inputs));

  const auto run = make_run(request);
  const RunInfo& info = *run->info();
  ASSERT_EQ(info.launches.back().label, "sum_heads");
  EXPECT_EQ(of(info.head_bytes, Tensor::dK_heads).write_bytes, 40 * 8 * 2);
  EXPECT_EQ(of(info.head_bytes, Tensor::dK_heads).read_bytes, 3 * 40 * 8 * 2);
  EXPECT_EQ(of(info.head_bytes, Tensor::dK).write_bytes, 40 * 8 * 2);

  // Before each last store, the sums are on chip; visited in reverse order
  int compared = 0;
  for (Index step = info.step_count - 1; step >= info.launches.back().begin; --step) {
    const Snapshot at = run->at(step);
    const Tensor stored = at.next_op.dest_tiles[0].tensor;
    if (at.next_op.kind != OpKind::store || step == info.step_count - 1) continue;
    const HeadTensor& whole = stored == Tensor::dK ? expected.dK : expected.dV;
    const auto reference = whole.head(1, 1);
    for (const SlotState& slot : at.slots) {
      if (!slot.valid || slot.tensor != stored) continue;
      const Index row = Index{slot.tile.j} * 8;
      for (std::size_t k = 0; k < slot.values.values.size(); ++k) {
        ASSERT_NEAR(slot.values.values[k], reference[static_cast<std::size_t>(row * 8) + k], 1e-5);
        ++compared;
      }
    }
  }
  EXPECT_EQ(compared, 2 * 40 * 8);
}

TEST_P(EveryAlgorithm, WarpsOfAllStepsAddUpToThoseOfThePass) {
  test::WalkRequest request = request_for(GetParam().algorithm, 40, 8, {16, 8});
  request.pass = GetParam().pass;
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
  test::WalkRequest request = request_for(GetParam().algorithm, 64, 16, {16, 16});
  request.pass = GetParam().pass;
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
  test::WalkRequest request = request_for(GetParam().algorithm, 16, 16, {16, 16});
  request.pass = GetParam().pass;
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
      if (pass != PassKind::forward && !algorithm.has_backward) continue;
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

TEST(SteppedRun, GroupsOfWholeRowsAreNotNamedLikeTiles) {
  test::WalkRequest request = request_for("standard", 60, 16, {16, 16});
  request.pass = PassKind::both;
  const auto run = make_run(request);
  const RunInfo& info = *run->info();
  std::size_t row_launches = 0;
  for (std::size_t launch = 0; launch < info.launches.size(); ++launch) {
    const StepSpan& span = info.launches[launch];
    std::vector<std::string> labels;
    for (const StepSpan& block : info.outer) {
      if (block.begin >= span.begin && block.begin < span.end) labels.push_back(block.label);
    }
    ASSERT_FALSE(labels.empty()) << span.label;
    if (span.label != "softmax" && span.label != "dS") {
      EXPECT_EQ(labels.front().find("rows"), std::string::npos) << labels.front();
      continue;
    }
    // The labels name every row of the problem once, from the first to the last
    ++row_launches;
    const Index rows = info.grids[launch].tiling().Br;
    EXPECT_EQ(labels.front(), fmt::format("rows 0-{}", std::min<Index>(rows, 60) - 1));
    EXPECT_TRUE(labels.back().ends_with("-59")) << labels.back();
    EXPECT_EQ(std::ssize(labels), ceil_div(60, rows));
  }
  EXPECT_EQ(row_launches, 2U);
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

TEST(SteppedRun, AProblemTooLargeForARowTileIsSteppedWithoutValues) {
  const auto run = make_run(request_for("flash2", 65536, 64, {128, 128}));
  EXPECT_FALSE(run->info()->has_values);
  EXPECT_FALSE(run->info()->has_tile_values);
  const Snapshot snapshot = run->at(run->info()->step_count / 2);
  EXPECT_FALSE(snapshot.what.empty());
  EXPECT_GT(of(snapshot.bytes_so_far, Tensor::K).read_bytes, 0);
  const Snapshot last = run->at(run->info()->step_count - 1);
  EXPECT_EQ(last.bytes_so_far, run->info()->totals.by_tensor);
}

TEST(SteppedRun, RefusesWhatSimulateRefuses) {
  const auto run = test::create_run(request_for("flash2", 4096, 128, {2048, 2048}));
  ASSERT_FALSE(run.ok());
  EXPECT_EQ(run.error().kind, Error::Kind::invalid_request);
  EXPECT_NE(run.error().message.find("does not fit"), std::string::npos) << run.error().message;
}

TEST(SteppedRun, PaddingHasItsPlaceInTheOuterLoop) {
  test::WalkRequest request = request_for("flash1", 32, 16, {16, 16});
  request.problem.key_lengths = {0};
  request.pass = PassKind::backward;
  const auto run = make_run(request);
  ASSERT_EQ(run->info()->outer.size(), 2U);
  EXPECT_EQ(run->info()->outer[0].begin, 0);
  EXPECT_EQ(run->info()->outer[1].label, "j = 1");
}

TEST(SteppedRun, RefusesAPassWithoutAnyStep) {
  test::WalkRequest request = request_for("block_sparse", 32, 16, {16, 16});
  request.problem.block_mask = test::listed_block_mask({16, 16}, 2, {{}, {}});
  request.variant.skip_unused_kv = true;
  const auto run = test::create_run(request);
  ASSERT_FALSE(run.ok());
  EXPECT_EQ(run.error().kind, Error::Kind::invalid_request);
  EXPECT_NE(run.error().message.find("so this pass has no steps"), std::string::npos)
      << run.error().message;
}

TEST(SteppedRun, CanBeCancelled) {
  const std::atomic<bool> cancel = true;
  const auto run = test::create_run(request_for("flash1", 1024, 64, {32, 32}), {}, &cancel);
  ASSERT_FALSE(run.ok());
  EXPECT_EQ(run.error().message, "cancelled");
}

TEST(BrokenRun, KeepsTheTensorInHbmWhoseStoreIsDropped) {
  for (const Tensor tensor : {Tensor::O, Tensor::LSE}) {
    test::WalkRequest request = request_for("flash2", 32, 8, {16, 16});
    request.variant.broken.dropped = {
        .launch = "forward", .kind = "store", .tensor = std::string(to_string(tensor))};
    const auto run = make_run(request);
    const Snapshot snapshot = run->at(run->info()->step_count - 1);
    const auto in_hbm = std::ranges::find(snapshot.hbm, tensor, &HbmTensorState::tensor);
    ASSERT_NE(in_hbm, snapshot.hbm.end()) << to_string(tensor);
    EXPECT_FALSE(in_hbm->input);
    EXPECT_FALSE(in_hbm->never_stored);
    EXPECT_EQ(std::ranges::count(in_hbm->written, 0), std::ssize(in_hbm->written));
  }
}

}  // namespace
}  // namespace attnscope
