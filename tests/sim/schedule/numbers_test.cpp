/// Every schedule equals the reference: ragged lengths, Br != Bc, masks, N != N_kv, grouped heads,
/// any order of thread blocks.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "sim/schedule/algorithm.h"
#include "tests/sim/schedule/schedule_cases.h"
#include "tests/support/model_request.h"
#include "tests/support/tensor_assertions.h"

namespace attnscope {
namespace {

using test::is_near;
using test::request_for;
using test::ScheduleCase;

std::vector<ScheduleCase> number_cases() {
  const Mask masks[] = {Mask::none(), Mask::causal(), Mask::causal(Mask::Alignment::top_left),
                        Mask::window(5, 3), Mask::window(0, 0)};
  const Tiling tilings[] = {{16, 16}, {8, 24}, {24, 8}, {128, 128}, {1, 7}};
  const std::pair<Index, Index> lengths[] = {{64, 64}, {100, 100}, {37, 90}, {90, 37}, {1, 33}};
  std::vector<ScheduleCase> all = test::all_cases(masks, tilings, lengths);
  all.push_back({50, 70, 16, {16, 32}, Mask::causal(), 6, 2});
  all.push_back({70, 50, 16, {32, 16}, Mask::causal(), 4, 1});
  return all;
}

class EverySchedule : public testing::TestWithParam<ScheduleCase> {};

void expect_equals_reference(const ScheduleCase& c, InputKind kind, double tolerance) {
  for (const Algorithm& algorithm : algorithms()) {
    for (const Carry carry : {Carry::problem, Carry::fp32}) {
      if (carry == Carry::fp32 && !algorithm.carries_output) continue;
      test::ModelRequest request = request_for(c, algorithm.name);
      request.variant.carry = carry;
      const AttentionInputs inputs = make_inputs(request.problem, {kind, 7});
      const auto result = simulate_numbers(request, inputs, {});
      ASSERT_TRUE(result.ok()) << result.error().message;
      const ForwardResult reference = naive_forward(request.problem, inputs);
      EXPECT_TRUE(is_near(result.value().output.O, reference.O, tolerance)) << algorithm.name;
      EXPECT_TRUE(is_near(result.value().output.LSE, reference.LSE, tolerance)) << algorithm.name;
    }
  }
}

TEST_P(EverySchedule, EqualsTheReferenceOnGaussianInputs) {
  expect_equals_reference(GetParam(), InputKind::gaussian, 1e-12);
}

TEST_P(EverySchedule, EqualsTheReferenceOnOutlierInputs) {
  expect_equals_reference(GetParam(), InputKind::outlier, 1e-9);
}

TEST_P(EverySchedule, DoesNotDependOnTheOrderOfThreadBlocks) {
  for (const Algorithm& algorithm : algorithms()) {
    const test::ModelRequest request = request_for(GetParam(), algorithm.name);
    const AttentionInputs inputs = make_inputs(request.problem, {InputKind::gaussian, 7});
    const auto ascending = simulate_numbers(request, inputs, {});
    ASSERT_TRUE(ascending.ok());
    for (const BlockOrder order :
         {BlockOrder{BlockOrder::Kind::descending}, BlockOrder{BlockOrder::Kind::shuffled, 3}}) {
      const auto other = simulate_numbers(request, inputs, {.order = order});
      ASSERT_TRUE(other.ok());
      EXPECT_EQ(other.value().output.O, ascending.value().output.O) << algorithm.name;
      EXPECT_EQ(other.value().output.LSE, ascending.value().output.LSE) << algorithm.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(RaggedAndMasked, EverySchedule, testing::ValuesIn(number_cases()));

TEST(TwoSweepSoftmax, EqualsTheReferenceWhenARowDoesNotFit) {
  ScheduleCase c{40, 300, 8, {16, 32}, Mask::causal()};
  test::ModelRequest request = request_for(c, "standard");
  request.gpu_description.shared_bytes_per_block = 1024;  // a row of 300 fp32 scores does not fit
  request.gpu_description.register_bytes_per_sm = 4096;   // panels of 128 columns
  ASSERT_EQ(schedule_options(request.problem, ScheduleVariant{}, request.gpu_description)
                .softmax_panel_cols,
            128);
  const AttentionInputs inputs = make_inputs(request.problem, {InputKind::gaussian, 7});
  const auto result = simulate_numbers(request, inputs, {});
  ASSERT_TRUE(result.ok());
  const ForwardResult reference = naive_forward(request.problem, inputs);
  EXPECT_TRUE(is_near(result.value().output.O, reference.O, 1e-12));
  EXPECT_TRUE(is_near(result.value().output.LSE, reference.LSE, 1e-12));
}

TEST(StoragePrecision, RoundingToBf16StaysWithinTheToleranceRule) {
  for (const Algorithm& algorithm : algorithms()) {
    test::ModelRequest request =
        request_for({200, 200, 64, {64, 32}, Mask::causal()}, algorithm.name);
    request.problem.dtype = DType::bf16;
    if (algorithm.carries_output) request.variant.carry = Carry::fp32;
    const AttentionInputs inputs = make_inputs(request.problem, {InputKind::gaussian, 11});
    const auto rounded = simulate_numbers(with_rounding(request), inputs);
    ASSERT_TRUE(rounded.ok());
    const ForwardResult reference = naive_forward(request.problem, inputs);
    const Tolerance tolerance = forward_tolerance(request.problem, inputs, reference);
    EXPECT_TRUE(within(rounded.value().O_error, tolerance))
        << algorithm.name << ": " << rounded.value().O_error.max_abs_error << " > "
        << tolerance.max_abs;
    EXPECT_GT(rounded.value().O_error.max_abs_error, 1e-6) << "values were not rounded";
  }
}

}  // namespace
}  // namespace attnscope
