#include "reference/inputs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "reference/naive_attention.h"
#include "reference/rounding.h"

namespace attnscope {
namespace {

AttentionProblem small_problem() {
  AttentionProblem problem;
  problem.batch = 2;
  problem.heads = 4;
  problem.kv_heads = 2;
  problem.N = 64;
  problem.N_kv = 80;
  problem.d = 32;
  return problem;
}

// Golden values, computed from the definition by a separate program: the data with which recordings
// were made must never change
TEST(InputElement, KeepsItsGoldenValues) {
  EXPECT_EQ(input_element(InputKind::gaussian, 0, InputTensor::Q, 0, 0, 0, 0), -257046 * 0x1p-20f);
  EXPECT_EQ(input_element(InputKind::gaussian, 0, InputTensor::K, 0, 0, 0, 1), 686078 * 0x1p-20f);
  EXPECT_EQ(input_element(InputKind::gaussian, 0x123456789abcdef, InputTensor::V, 3, 5, 1000, 63),
            729718 * 0x1p-20f);
  EXPECT_EQ(input_element(InputKind::gaussian, 1, InputTensor::dO, 1, 2, 7, 127),
            -778502 * 0x1p-20f);
  EXPECT_EQ(input_element(InputKind::outlier, 7, InputTensor::Q, 0, 0, 14, 2),
            -38349664 * 0x1p-20f);
  EXPECT_EQ(input_element(InputKind::outlier, 7, InputTensor::K, 0, 0, 3, 2), -2550624 * 0x1p-20f);
  EXPECT_EQ(input_element(InputKind::needle, 7, InputTensor::K, 0, 0, 9, 3), -4299601 * 0x1p-20f);
  EXPECT_EQ(input_element(InputKind::needle, 7, InputTensor::K, 0, 0, 10, 3), 843686 * 0x1p-20f);
  EXPECT_EQ(input_element(InputKind::needle, 7, InputTensor::Q, 0, 2, 20, 3), -1452927 * 0x1p-20f);
}

TEST(MakeInputs, HasTheProblemsShapes) {
  const AttentionInputs inputs = make_inputs(small_problem(), {});
  const HeadTensor query_side(2, 4, 64, 32);
  const HeadTensor key_side(2, 2, 80, 32);
  EXPECT_TRUE(inputs.Q.same_shape(query_side));
  EXPECT_TRUE(inputs.dO.same_shape(query_side));
  EXPECT_TRUE(inputs.K.same_shape(key_side));
  EXPECT_TRUE(inputs.V.same_shape(key_side));
}

TEST(MakeInputs, EveryValueIsTheElementRoundedToTheProblemsPrecision) {
  for (const DType dtype : {DType::fp32, DType::fp16, DType::bf16}) {
    for (const InputKind kind : {InputKind::gaussian, InputKind::outlier, InputKind::needle}) {
      AttentionProblem problem = small_problem();
      problem.dtype = dtype;
      const AttentionInputs inputs = make_inputs(problem, {kind, 3});
      const float element = input_element(kind, 3, InputTensor::K, 1, 1, 79, 31);
      EXPECT_EQ(inputs.K.at(1, 1, 79, 31), round_to(dtype, static_cast<double>(element)));
      for (const double value : inputs.Q.data) ASSERT_EQ(value, round_to(dtype, value));
    }
  }
}

TEST(MakeInputs, SharedElementsDoNotDependOnTheSizes) {
  const AttentionInputs small = make_inputs(small_problem(), {InputKind::needle, 9});
  AttentionProblem large_problem = small_problem();
  large_problem.batch = 3;
  large_problem.heads = 6;
  large_problem.N = 100;
  large_problem.d = 48;
  const AttentionInputs large = make_inputs(large_problem, {InputKind::needle, 9});
  for (Index row = 0; row < 64; ++row) {
    for (Index col = 0; col < 32; ++col) {
      ASSERT_EQ(small.Q.at(1, 3, row, col), large.Q.at(1, 3, row, col));
    }
  }
}

TEST(MakeInputs, SeedsTensorsHeadsAndBatchesDiffer) {
  const AttentionInputs zero = make_inputs(small_problem(), {InputKind::gaussian, 0});
  const AttentionInputs one = make_inputs(small_problem(), {InputKind::gaussian, 1});
  const AttentionInputs high = make_inputs(small_problem(), {InputKind::gaussian, 1ull << 32});
  std::set<double> firsts;
  for (const AttentionInputs* inputs : {&zero, &one, &high}) {
    for (const HeadTensor* tensor : {&inputs->Q, &inputs->K, &inputs->V, &inputs->dO}) {
      firsts.insert(tensor->at(0, 0, 0, 0) + 256 * tensor->at(0, 0, 0, 1));
      firsts.insert(tensor->at(0, 1, 0, 0) + 256 * tensor->at(0, 1, 0, 1));
      firsts.insert(tensor->at(1, 0, 0, 0) + 256 * tensor->at(1, 0, 0, 1));
    }
  }
  EXPECT_EQ(firsts.size(), 3u * 4u * 3u);
}

TEST(MakeInputs, GaussianHasTheMomentsOfANormalDistribution) {
  AttentionProblem problem;
  problem.N = problem.N_kv = 4096;
  problem.d = 64;
  problem.dtype = DType::fp32;
  const AttentionInputs inputs = make_inputs(problem, {InputKind::gaussian, 42});
  for (const HeadTensor* tensor : {&inputs.Q, &inputs.K, &inputs.V, &inputs.dO}) {
    const double count = static_cast<double>(tensor->size());  // 262,144
    double sum = 0, squares = 0, fourth = 0, within_one = 0;
    for (const double x : tensor->data) {
      ASSERT_LT(std::fabs(x), 6.0);
      ASSERT_NE(x, 0.0);
      sum += x, squares += x * x, fourth += x * x * x * x;
      within_one += std::fabs(x) < 1.0 ? 1 : 0;
    }
    // Five standard errors of each estimate; the sum of twelve uniforms has kurtosis 2.9
    EXPECT_LT(std::fabs(sum / count), 5.0 / std::sqrt(count));
    EXPECT_LT(std::fabs(squares / count - 1.0), 5.0 * std::sqrt(2.0 / count));
    EXPECT_LT(std::fabs(fourth / count - 2.9), 5.0 * std::sqrt(96.0 / count));
    EXPECT_NEAR(within_one / count, 0.6827, 0.01);
  }
}

TEST(MakeInputs, NeighbouringElementsAreUncorrelated) {
  AttentionProblem problem;
  problem.N = problem.N_kv = 2048;
  problem.dtype = DType::fp32;
  const AttentionInputs inputs = make_inputs(problem, {InputKind::gaussian, 5});
  const auto& data = inputs.Q.data;
  for (const std::size_t lag : {std::size_t{1}, std::size_t{64}}) {
    double sum = 0;
    for (std::size_t n = lag; n < data.size(); ++n) sum += data[n] * data[n - lag];
    const double count = static_cast<double>(data.size() - lag);
    EXPECT_LT(std::fabs(sum / count), 5.0 / std::sqrt(count)) << "lag " << lag;
  }
}

TEST(MakeInputs, OutlierLogitsReachHundredsAndStayFiniteInFp16) {
  AttentionProblem problem;
  problem.N = problem.N_kv = 512;
  problem.dtype = DType::fp16;
  const AttentionInputs inputs = make_inputs(problem, {InputKind::outlier, 1});
  const ForwardResult forward = naive_forward(problem, inputs);
  double largest = 0;
  for (const double lse : forward.LSE.data) {
    ASSERT_TRUE(std::isfinite(lse));
    largest = std::max(largest, lse);
  }
  EXPECT_GT(largest, 200.0);
  EXPECT_LT(largest, 2000.0);
}

TEST(MakeInputs, OutliersAreAboutOneRowInEight) {
  int rows = 0;
  for (std::uint32_t row = 0; row < 8000; ++row) {
    rows += detail::is_outlier_row(2, InputTensor::Q, 0, 0, row) ? 1 : 0;
  }
  EXPECT_NEAR(rows, 1000, 150);
}

TEST(MakeInputs, NeedleTakesAlmostAllOfTheWeightHalfwayBack) {
  AttentionProblem problem;
  problem.heads = 2;
  problem.N = problem.N_kv = 256;
  problem.mask = Mask::causal();
  const InputSpec spec{InputKind::needle, 11};
  const AttentionInputs inputs = make_inputs(problem, spec);
  const ForwardResult forward = naive_forward(problem, inputs);
  for (Index h = 0; h < problem.heads; ++h) {
    for (Index query = kNeedleBlockRows; query < problem.N; ++query) {
      // The needle's row is the only one in block s = t / 2 for which is_needle_row is true
      Index needle = query / kNeedleBlockRows / 2 * kNeedleBlockRows;
      while (!detail::is_needle_row(spec.seed, 0, static_cast<std::uint32_t>(needle))) ++needle;
      double logit = 0;
      for (Index c = 0; c < problem.d; ++c) {
        logit += inputs.Q.at(0, h, query, c) * inputs.K.at(0, 0, needle, c);
      }
      const double weight =
          std::exp(logit * problem.softmax_scale() - forward.LSE.at(0, h, query, 0));
      ASSERT_GT(weight, 0.99) << "head " << h << " query " << query;
    }
  }
}

TEST(HashOfInputs, DependsOnEveryValueOfEveryTensor) {
  AttentionProblem problem;
  problem.N = problem.N_kv = 4;
  problem.d = 2;
  AttentionInputs inputs = make_inputs(problem, {});
  const std::uint64_t hash = hash_of_inputs(inputs);
  EXPECT_EQ(hash_of_inputs(make_inputs(problem, {})), hash);
  EXPECT_NE(hash_of_inputs(make_inputs(problem, {.seed = 1})), hash);
  for (HeadTensor AttentionInputs::*tensor :
       {&AttentionInputs::Q, &AttentionInputs::K, &AttentionInputs::V, &AttentionInputs::dO}) {
    for (double& value : (inputs.*tensor).data) {
      value = -value;
      EXPECT_NE(hash_of_inputs(inputs), hash);
      value = -value;
    }
  }
  EXPECT_EQ(hash_of_inputs(inputs), hash);
}

TEST(InputKindNames, RoundTripAndRefuseOthers) {
  for (const InputKind kind : {InputKind::gaussian, InputKind::outlier, InputKind::needle}) {
    EXPECT_EQ(parse_name<InputKind>(to_string(kind)), kind);
  }
  for (const char* name : {"", "Gaussian", "normal", "needle "}) {
    EXPECT_FALSE(parse_name<InputKind>(name).has_value()) << name;
  }
}

}  // namespace
}  // namespace attnscope
