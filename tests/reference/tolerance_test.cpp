#include "reference/tolerance.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "reference/check.h"
#include "reference/rounding.h"
#include "tests/support/tensor_assertions.h"

namespace attnscope {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

using Values = std::vector<double>;

TEST(Compare, FindsTheWorstElementAndTheRelativeNorm) {
  const ErrorReport report = compare(Values{1, 2, 6, 4}, Values{1, 2, 3, 0});
  EXPECT_EQ(report.max_abs_error, 4.0);
  EXPECT_EQ(report.worst_index, 3);
  EXPECT_DOUBLE_EQ(report.rel_fro_error, 5.0 / std::sqrt(14.0));
  EXPECT_FALSE(report.has_nan);
}

TEST(Compare, EqualValuesHaveNoError) {
  for (const Values& values : {Values{}, Values{0, 0}, Values{1, -kInfinity, 3}}) {
    const ErrorReport report = compare(values, values);
    EXPECT_EQ(report.max_abs_error, 0.0);
    EXPECT_EQ(report.rel_fro_error, 0.0);
    EXPECT_TRUE(within(report, {0.0}));
  }
}

TEST(Compare, NanOnEitherSideIsNeverWithinTolerance) {
  for (const auto& [x, ref] :
       {std::pair{Values{1, kNan}, Values{1, 2}}, std::pair{Values{1, 2}, Values{1, kNan}},
        std::pair{Values{1, kNan}, Values{1, kNan}}}) {
    const ErrorReport report = compare(x, ref);
    EXPECT_TRUE(report.has_nan);
    EXPECT_EQ(report.worst_index, 1);
    EXPECT_FALSE(within(report, {kInfinity}));
  }
}

TEST(Compare, InfinitiesMatchOnlyThemselves) {
  for (const auto& [x, ref] :
       {std::pair{kInfinity, -kInfinity}, std::pair{-kInfinity, 0.0}, std::pair{0.0, -kInfinity}}) {
    const ErrorReport report = compare(Values{5, x}, Values{5, ref});
    EXPECT_EQ(report.max_abs_error, kInfinity);
    EXPECT_EQ(report.rel_fro_error, kInfinity);
    EXPECT_FALSE(within(report, {1e300}));
  }
}

TEST(Compare, AnErrorAgainstAllZerosIsInfiniteInTheRelativeNorm) {
  EXPECT_EQ(compare(Values{1e-30}, Values{0}).rel_fro_error, kInfinity);
}

TEST(Compare, DifferentSizesAreAProgrammersError) {
  EXPECT_THROW(compare(Values{1, 2}, Values{1}), CheckFailure);
}

TEST(Within, ToleranceIsInclusiveAndNanTolerancesAcceptNothing) {
  const ErrorReport report = compare(Values{1.5}, Values{1});
  EXPECT_TRUE(within(report, {0.5}));
  EXPECT_FALSE(within(report, {std::nextafter(0.5, 0.0)}));
  EXPECT_FALSE(within(report, {kNan}));
}

TEST(Within, ASmallRelativeErrorPassesIfTheToleranceHasOne) {
  const ErrorReport report{.max_abs_error = 2.0, .rel_fro_error = 1e-6};
  EXPECT_FALSE(within(report, {1.0}));
  EXPECT_TRUE(within(report, {1.0, 2e-6}));
  EXPECT_FALSE(within(report, {1.0, 5e-7}));
  ErrorReport failed = report;
  failed.has_nan = true;
  EXPECT_FALSE(within(failed, {1.0, 2e-6}));
}

TEST(GradientTolerance, HasARelativeErrorInFp32Alone) {
  for (const DType dtype : {DType::fp32, DType::fp16, DType::bf16}) {
    AttentionProblem problem{.N = 4, .N_kv = 4, .d = 2, .mask = {}};
    problem.dtype = dtype;
    const AttentionInputs inputs = make_inputs(problem, {});
    const Gradients yardstick = unfused_backward(problem, inputs);
    const Tolerance tolerance =
        gradient_tolerance(problem, inputs, yardstick.dQ.data, yardstick.dQ.data);
    EXPECT_EQ(tolerance.rel_fro, dtype == DType::fp32 ? kFp32RelError : 0.0);
  }
}

TEST(ToleranceFrom, IsKTimesTheYardsticksErrorOrOneLastPlace) {
  EXPECT_DOUBLE_EQ(tolerance_from(Values{1.5}, Values{1}, DType::bf16, 3.0).max_abs, 1.5);
  EXPECT_EQ(tolerance_from(Values{3}, Values{3}, DType::bf16).max_abs, 0x1p-6);
  EXPECT_EQ(tolerance_from(Values{3, -kInfinity}, Values{3, -kInfinity}, DType::fp16).max_abs,
            0x1p-9);
}

TEST(ToleranceFrom, AFailedYardstickAllowsNothing) {
  EXPECT_EQ(tolerance_from(Values{kNan}, Values{1}, DType::fp32).max_abs, 0x1p-23);
  EXPECT_EQ(tolerance_from(Values{kInfinity}, Values{1}, DType::fp32).max_abs, 0x1p-23);
}

AttentionProblem problem_of(DType dtype) {
  AttentionProblem problem;
  problem.heads = 2;
  problem.N = 150;
  problem.N_kv = 140;  // the first ten rows are empty
  problem.d = 32;
  problem.dtype = dtype;
  problem.mask = Mask::causal();
  return problem;
}

TEST(UnfusedForward, ErrsByAboutItsPrecision) {
  for (const auto& [dtype, least, most] :
       {std::tuple{DType::fp32, 1e-8, 3e-6}, std::tuple{DType::fp16, 1e-4, 4e-3},
        std::tuple{DType::bf16, 1e-3, 3e-2}}) {
    const AttentionProblem problem = problem_of(dtype);
    const AttentionInputs inputs = make_inputs(problem, {});
    const ForwardResult reference = naive_forward(problem, inputs);
    const ForwardResult unfused = unfused_forward(problem, inputs);
    const ErrorReport error = compare(unfused.O.data, reference.O.data);
    EXPECT_FALSE(error.has_nan);
    EXPECT_GT(error.max_abs_error, least) << to_string(dtype);
    EXPECT_LT(error.max_abs_error, most) << to_string(dtype);
    EXPECT_TRUE(within(compare(unfused.LSE.data, reference.LSE.data), {most}));
    for (const double value : unfused.O.data) ASSERT_EQ(value, round_to(dtype, value));
  }
}

TEST(UnfusedForward, ScalesKeysAndStoresScoresInTheProblemsPrecision) {
  // One key with one nonzero column: LSE is the stored score itself
  AttentionProblem problem;
  problem.N = 200;
  problem.N_kv = 1;
  problem.d = 2;
  const double scale = static_cast<double>(static_cast<float>(problem.softmax_scale()));
  for (const DType dtype : {DType::fp16, DType::bf16}) {
    problem.dtype = dtype;
    AttentionInputs inputs = make_inputs(problem, {});
    const double key = inputs.K.at(0, 0, 0, 0);
    inputs.K.at(0, 0, 0, 1) = 0.0;
    const ForwardResult unfused = unfused_forward(problem, inputs);
    for (Index q = 0; q < problem.N; ++q) {
      const double product = inputs.Q.at(0, 0, q, 0) * round_to(dtype, key * scale);
      EXPECT_EQ(unfused.LSE.at(0, 0, q, 0), round_to(dtype, product)) << q;
    }
  }
}

TEST(UnfusedForward, StoresWeightsInTheProblemsPrecision) {
  // S = (s, 0) and V = (1, -1): the difference of two weights shows how each was rounded
  const AttentionProblem problem{.N = 1, .N_kv = 2, .d = 1, .dtype = DType::bf16, .mask = {}};
  AttentionInputs inputs{{1, 1, 1, 1}, {1, 1, 2, 1}, {1, 1, 2, 1}, {1, 1, 1, 1}};
  const double s = 0.40625;
  inputs.Q.data = {1.0};
  inputs.K.data = {s, 0.0};
  inputs.V.data = {1.0, -1.0};
  const double l = std::exp(s) + 1;
  const double stored = round_to(DType::bf16, std::exp(s) / l) - round_to(DType::bf16, 1 / l);
  ASSERT_NE(stored, round_to(DType::bf16, (std::exp(s) - 1) / l));  // else the case proves nothing
  EXPECT_EQ(unfused_forward(problem, inputs).O.data[0], stored);
}

TEST(UnfusedForward, EmptyRowsAreAsInTheReference) {
  const AttentionProblem problem = problem_of(DType::bf16);
  const ForwardResult unfused = unfused_forward(problem, make_inputs(problem, {}));
  for (Index q = 0; q < 10; ++q) {
    EXPECT_EQ(unfused.LSE.at(0, 1, q, 0), -kInfinity);
    EXPECT_EQ(unfused.O.at(0, 1, q, 31), 0.0);
  }
}

TEST(UnfusedBackward, ErrsByAboutItsPrecision) {
  for (const auto& [dtype, least, most] :
       {std::tuple{DType::fp32, 1e-8, 1e-5}, std::tuple{DType::fp16, 1e-4, 2e-2},
        std::tuple{DType::bf16, 1e-3, 1e-1}}) {
    AttentionProblem problem = problem_of(dtype);
    problem.kv_heads = 1;
    const AttentionInputs inputs = make_inputs(problem, {});
    const Gradients reference = naive_backward(problem, inputs, naive_forward(problem, inputs));
    const Gradients unfused = unfused_backward(problem, inputs);
    for (const auto& [x, ref] :
         {std::pair{&unfused.dQ, &reference.dQ}, std::pair{&unfused.dK, &reference.dK},
          std::pair{&unfused.dV, &reference.dV}}) {
      const ErrorReport error = compare(x->data, ref->data);
      EXPECT_FALSE(error.has_nan);
      EXPECT_GT(error.max_abs_error, least) << to_string(dtype);
      EXPECT_LT(error.max_abs_error, most) << to_string(dtype);
      for (const double value : x->data) ASSERT_EQ(value, round_to(dtype, value));
    }
    for (Index q = 0; q < 10; ++q) EXPECT_EQ(unfused.dQ.at(0, 1, q, 3), 0.0);
  }
}

TEST(ForwardTolerance, AcceptsTheRoundedReferenceAndRefusesAWrongResult) {
  for (const InputKind kind : {InputKind::gaussian, InputKind::needle}) {
    for (const DType dtype : {DType::fp32, DType::fp16, DType::bf16}) {
      const AttentionProblem problem = problem_of(dtype);
      const AttentionInputs inputs = make_inputs(problem, {kind, 1});
      const ForwardResult reference = naive_forward(problem, inputs);
      const Tolerance tolerance = forward_tolerance(problem, inputs, reference);
      HeadTensor rounded = reference.O;
      for (double& value : rounded.data) value = round_to(dtype, value);
      EXPECT_TRUE(within(compare(rounded.data, reference.O.data), tolerance));

      // A mask that is off by one key gives a small error, which must not be accepted
      AttentionProblem shifted = problem;
      shifted.mask = Mask{Mask::kUnlimited, 1, problem.mask.alignment};
      const ForwardResult wrong = naive_forward(shifted, inputs);
      EXPECT_FALSE(within(compare(wrong.O.data, reference.O.data), tolerance));
    }
  }
}

}  // namespace
}  // namespace attnscope
