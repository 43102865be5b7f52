/// Every backward schedule equals the reference's gradients: ragged lengths, Br != Bc, masks,
/// N != N_kv, grouped heads; and its bytes equal the papers' closed forms (arXiv 2205.14135
/// Algorithms 3 and 4, 2307.08691 Algorithm 2).

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "sim/schedule/algorithm.h"
#include "tests/sim/schedule/schedule_cases.h"
#include "tests/support/model_request.h"
#include "tests/support/tensor_assertions.h"

namespace attnscope {
namespace {

using test::is_near;
using test::ScheduleCase;

std::vector<ScheduleCase> gradient_cases() {
  const Mask masks[] = {Mask::none(), Mask::causal(), Mask::causal(Mask::Alignment::top_left),
                        Mask::window(5, 3)};
  const Tiling tilings[] = {{16, 16}, {8, 24}, {24, 8}, {128, 128}};
  const std::pair<Index, Index> lengths[] = {{64, 64}, {37, 90}, {90, 37}, {1, 33}};
  std::vector<ScheduleCase> all = test::all_cases(masks, tilings, lengths);
  all.push_back({50, 70, 16, {16, 32}, Mask::causal(), 6, 2});
  all.push_back({70, 50, 16, {32, 16}, Mask::none(), 4, 1});
  return all;
}

test::ModelRequest backward_request(const ScheduleCase& c, std::string_view algorithm,
                                    DType dtype) {
  test::ModelRequest request = test::request_for(c, algorithm, dtype, /*batch=*/2);
  request.pass = PassKind::backward;
  return request;
}

class EveryBackwardSchedule : public testing::TestWithParam<ScheduleCase> {};

/// The algorithms of the catalog that have a backward pass.
std::vector<Algorithm> algorithms_with_backward() {
  std::vector<Algorithm> all(algorithms().begin(), algorithms().end());
  std::erase_if(all, [](const Algorithm& algorithm) { return !algorithm.has_backward; });
  return all;
}

TEST_P(EveryBackwardSchedule, EqualsTheReference) {
  for (const Algorithm& algorithm : algorithms_with_backward()) {
    for (const Carry carry : {Carry::problem, Carry::fp32}) {
      if (carry == Carry::fp32 && !algorithm.carries_output) continue;
      test::ModelRequest request = backward_request(GetParam(), algorithm.name, DType::fp32);
      request.variant.carry = carry;
      const AttentionInputs inputs = make_inputs(request.problem, {InputKind::gaussian, 7});
      const auto result = simulate_numbers(request, inputs, {});
      ASSERT_TRUE(result.ok()) << result.error().message;
      const Gradients reference =
          naive_backward(request.problem, inputs, naive_forward(request.problem, inputs));
      ASSERT_TRUE(result.value().gradients);
      EXPECT_TRUE(is_near(result.value().gradients->dQ, reference.dQ, 1e-11)) << algorithm.name;
      EXPECT_TRUE(is_near(result.value().gradients->dK, reference.dK, 1e-11)) << algorithm.name;
      EXPECT_TRUE(is_near(result.value().gradients->dV, reference.dV, 1e-11)) << algorithm.name;
    }
  }
}

TEST_P(EveryBackwardSchedule, ChangesOnlyTheRoundingOfDqWithTheOrderOfThreadBlocks) {
  for (const Algorithm& algorithm : algorithms_with_backward()) {
    const test::ModelRequest request = backward_request(GetParam(), algorithm.name, DType::fp32);
    const AttentionInputs inputs = make_inputs(request.problem, {InputKind::gaussian, 7});
    const auto ascending = simulate_numbers(request, inputs, {});
    const auto shuffled =
        simulate_numbers(request, inputs, {.order = {BlockOrder::Kind::shuffled, 3}});
    ASSERT_TRUE(ascending.ok() && shuffled.ok());
    EXPECT_EQ(shuffled.value().gradients->dK, ascending.value().gradients->dK);
    EXPECT_EQ(shuffled.value().gradients->dV, ascending.value().gradients->dV);
    EXPECT_TRUE(is_near(shuffled.value().gradients->dQ, ascending.value().gradients->dQ, 1e-13));
  }
}

INSTANTIATE_TEST_SUITE_P(RaggedAndMasked, EveryBackwardSchedule,
                         testing::ValuesIn(gradient_cases()));

TEST(TwoSweepGradient, EqualsTheReferenceWhenTwoRowsDoNotFit) {
  test::ModelRequest request =
      backward_request({40, 300, 8, {16, 32}, Mask::causal()}, "standard", DType::fp32);
  request.gpu_description.shared_bytes_per_block = 2048;
  request.gpu_description.register_bytes_per_sm = 4096;
  ASSERT_GT(schedule_options(request.problem, ScheduleVariant{}, request.gpu_description)
                .gradient_panel_cols,
            0);
  const AttentionInputs inputs = make_inputs(request.problem, {InputKind::gaussian, 7});
  const auto result = simulate_numbers(request, inputs, {});
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_LE(result.value().dQ_error.max_abs_error, 1e-11);
  EXPECT_LE(result.value().dK_error.max_abs_error, 1e-11);
  EXPECT_LE(result.value().dV_error.max_abs_error, 1e-11);
}

const ScheduleCase kGradientShapes[] = {
    {64, 64, 16, {16, 16}, Mask::none()},
    {100, 100, 32, {16, 48}, Mask::none(), 3, 3},
    {257, 129, 64, {64, 32}, Mask::none(), 2, 2},
};

/// The closed forms count the elements of a head; the batch has two entries.
class BackwardTraffic : public testing::TestWithParam<DType> {};

TEST_P(BackwardTraffic, StandardPaperBytesAreSevenPassesOverTheScores) {
  for (const ScheduleCase& c : kGradientShapes) {
    const SimulationReport report = simulate(backward_request(c, "standard", GetParam())).value();
    const Index e = size_bytes(GetParam());
    const Index heads = 2 * c.heads;
    const Index scores = c.N * c.N_kv;
    // Reads P; dO | dO, V | P, dP | dS, K | dS, Q. Writes dV, dP, dS, dQ, dK
    EXPECT_EQ(report.paper.read_bytes, heads * e * (5 * scores + 3 * c.N * c.d + 2 * c.N_kv * c.d));
    EXPECT_EQ(report.paper.write_bytes, heads * e * (2 * scores + c.N * c.d + 2 * c.N_kv * c.d));
  }
}

TEST_P(BackwardTraffic, Flash1StreamsFourRowTensorsForEachColumnTile) {
  for (const ScheduleCase& c : kGradientShapes) {
    const SimulationReport report = simulate(backward_request(c, "flash1", GetParam())).value();
    const Index e = size_bytes(GetParam());
    const Index heads = 2 * c.heads;
    const Index Tc = ceil_div(c.N_kv, c.tiling.Bc);
    const Index Nd = c.N * c.d;
    const Index Nd_kv = c.N_kv * c.d;
    EXPECT_EQ(report.requested.read_bytes, heads * (2 * Nd_kv * e + Tc * (4 * Nd * e + 8 * c.N)));
    EXPECT_EQ(report.requested.write_bytes, heads * (Tc * Nd * e + 2 * Nd_kv * e));
    EXPECT_EQ(report.paper, report.requested);
  }
}

TEST_P(BackwardTraffic, Flash2AddsDqAtomicallyInFp32) {
  for (const ScheduleCase& c : kGradientShapes) {
    const SimulationReport report = simulate(backward_request(c, "flash2", GetParam())).value();
    const Index e = size_bytes(GetParam());
    const Index heads = 2 * c.heads;
    const Index Tc = ceil_div(c.N_kv, c.tiling.Bc);
    const Index Nd = c.N * c.d;
    const Index Nd_kv = c.N_kv * c.d;
    const Index preprocess_reads = 2 * Nd * e;
    const Index main_reads = 2 * Nd_kv * e + Tc * (2 * Nd * e + 8 * c.N);
    const Index atomics = Tc * Nd * 4;
    EXPECT_EQ(report.requested.read_bytes, heads * (preprocess_reads + main_reads + Nd * 4));
    EXPECT_EQ(report.requested.atomic_bytes, heads * atomics);
    EXPECT_EQ(report.requested.write_bytes,
              heads * (4 * c.N + Nd * 4 + atomics + 2 * Nd_kv * e + Nd * e));
  }
}

TEST_P(BackwardTraffic, MatrixProductsAreTenNNdWhereRecomputedAndEightWhereStored) {
  for (const ScheduleCase& c : kGradientShapes) {
    for (const Algorithm& algorithm : algorithms_with_backward()) {
      const SimulationReport report =
          simulate(backward_request(c, algorithm.name, GetParam())).value();
      const Index products = algorithm.name == "standard" ? 8 : 10;
      EXPECT_EQ(report.matmul_flops, products * 2 * c.heads * c.N * c.N_kv * c.d) << algorithm.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryType, BackwardTraffic,
                         testing::Values(DType::fp32, DType::fp16, DType::bf16),
                         [](const auto& test) { return std::string(to_string(test.param)); });

TEST(Passes, BothIsTheSumOfForwardAndBackward) {
  for (const Algorithm& algorithm : algorithms_with_backward()) {
    test::ModelRequest request = backward_request({100, 70, 16, {16, 16}, Mask::causal(), 4, 2},
                                                  algorithm.name, DType::bf16);
    request.pass = PassKind::forward;
    const SimulationReport forward = simulate(request).value();
    request.pass = PassKind::backward;
    const SimulationReport backward = simulate(request).value();
    request.pass = PassKind::both;
    const SimulationReport both = simulate(request).value();
    Bytes requested = forward.requested;
    requested += backward.requested;
    EXPECT_EQ(both.requested, requested);
    EXPECT_EQ(both.matmul_flops, forward.matmul_flops + backward.matmul_flops);
    EXPECT_EQ(both.tile_ops, forward.tile_ops + backward.tile_ops);
    EXPECT_GE(both.peak_hbm_bytes, std::max(forward.peak_hbm_bytes, backward.peak_hbm_bytes));
  }
}

TEST(GroupedHeads, SumTheGradientsOfTheirKeysOnceForEachKvHead) {
  const ScheduleCase c{64, 64, 16, {16, 16}, Mask::none(), 8, 2};
  const SimulationReport report = simulate(backward_request(c, "flash2", DType::bf16)).value();
  ASSERT_EQ(report.launches.back().name, "sum_heads");
  const Bytes& sum_heads = report.launches.back().requested;
  EXPECT_EQ(sum_heads.read_bytes, 2 * 2 * (8 * 64 * 16) * 2);   // dK, dV of 8 heads, batch 2
  EXPECT_EQ(sum_heads.write_bytes, 2 * 2 * (2 * 64 * 16) * 2);  // of the 2 KV heads
}

}  // namespace
}  // namespace attnscope
