#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "reference/naive_attention.h"
#include "reference/rounding.h"
#include "tests/support/plain_attention.h"
#include "tests/support/tensor_assertions.h"

namespace attnscope {
namespace {

using test::is_near;

AttentionProblem problem_of(Index N, Index N_kv, Index d, Mask mask = {}) {
  AttentionProblem problem;
  problem.N = N;
  problem.N_kv = N_kv;
  problem.d = d;
  problem.mask = mask;
  return problem;
}

TEST(NaiveForward, TwoKeysByHand) {
  // q = 2, d = 1: S = (2 ln 3, 0), P = (9/10, 1/10), O = 0.9 * 10 + 0.1 * 20
  const AttentionProblem problem = problem_of(1, 2, 1);
  AttentionInputs inputs{{1, 1, 1, 1}, {1, 1, 2, 1}, {1, 1, 2, 1}, {1, 1, 1, 1}};
  inputs.Q.data = {2.0};
  inputs.K.data = {std::log(3.0), 0.0};
  inputs.V.data = {10.0, 20.0};
  const ForwardResult result = naive_forward(problem, inputs);
  EXPECT_NEAR(result.O.data[0], 11.0, 1e-14);
  EXPECT_NEAR(result.LSE.data[0], std::log(10.0), 1e-15);
}

TEST(NaiveForward, OneKeyGivesItsValueAndScore) {
  const AttentionProblem problem = problem_of(3, 1, 4);
  const AttentionInputs inputs = make_inputs(problem, {InputKind::outlier, 1});
  const ForwardResult result = naive_forward(problem, inputs);
  for (Index q = 0; q < 3; ++q) {
    double score = 0;
    for (Index c = 0; c < 4; ++c) {
      EXPECT_EQ(result.O.at(0, 0, q, c), inputs.V.at(0, 0, 0, c));
      score += inputs.Q.at(0, 0, q, c) * inputs.K.at(0, 0, 0, c) / 2.0;  // sqrt(d) = 2
    }
    EXPECT_NEAR(result.LSE.at(0, 0, q, 0), score, 1e-12);
  }
}

TEST(NaiveForward, EqualKeysGiveTheMeanOfV) {
  const AttentionProblem problem = problem_of(5, 300, 8);
  AttentionInputs inputs = make_inputs(problem, {});
  std::fill(inputs.K.data.begin(), inputs.K.data.end(), 0.0);
  const ForwardResult result = naive_forward(problem, inputs);
  for (Index c = 0; c < 8; ++c) {
    double mean = 0;
    for (Index k = 0; k < 300; ++k) mean += inputs.V.at(0, 0, k, c) / 300;
    EXPECT_NEAR(result.O.at(0, 0, 4, c), mean, 1e-14);
  }
  EXPECT_NEAR(result.LSE.data[0], std::log(300.0), 1e-14);
}

/// Sizes around the block of 128 rows, N below and above N_kv, every kind of mask and data.
TEST(NaiveForward, EqualsScalarLoopsWithAnExplicitMask) {
  const std::pair<Index, Index> sizes[] = {{1, 1}, {7, 5}, {5, 7}, {130, 129}, {129, 40}, {3, 260}};
  const Mask masks[] = {Mask::none(),
                        Mask::causal(),
                        Mask::causal(Mask::Alignment::top_left),
                        Mask::window(4, 0),
                        Mask::window(0, 3),
                        Mask::window(2, 5),
                        Mask{3, 1, Mask::Alignment::top_left},
                        Mask::window(200, -1)};
  for (const auto& [N, N_kv] : sizes) {
    for (const Mask& mask : masks) {
      for (const InputKind kind : {InputKind::gaussian, InputKind::outlier, InputKind::needle}) {
        AttentionProblem problem = problem_of(N, N_kv, 6, mask);
        problem.heads = 2;
        const Index offset = mask.alignment == Mask::Alignment::top_left ? 0 : N_kv - N;
        const auto attends = [&](Index q, Index k) {
          return (mask.left < 0 || k >= q + offset - mask.left) &&
                 (mask.right < 0 || k <= q + offset + mask.right);
        };
        const AttentionInputs inputs = make_inputs(problem, {kind, 17});
        const ForwardResult result = naive_forward(problem, inputs);
        const ForwardResult plain = test::plain_forward(problem, inputs, attends);
        const double tolerance = kind == InputKind::gaussian ? 1e-13 : 1e-11;
        ASSERT_TRUE(is_near(result.O, plain.O, tolerance)) << N << "x" << N_kv << to_string(mask);
        ASSERT_TRUE(is_near(result.LSE, plain.LSE, 1e-12)) << N << "x" << N_kv << to_string(mask);
      }
    }
  }
}

TEST(NaiveForward, WeightsOfEveryRowSumToOne) {
  // With V = 1 every output is the sum of its row of P
  AttentionProblem problem = problem_of(150, 170, 16, Mask::causal());
  AttentionInputs inputs = make_inputs(problem, {InputKind::outlier, 2});
  std::fill(inputs.V.data.begin(), inputs.V.data.end(), 1.0);
  const ForwardResult result = naive_forward(problem, inputs);
  EXPECT_TRUE(is_near(result.O, HeadTensor(1, 1, 150, 16, 1.0), 1e-14));
}

TEST(NaiveForward, AConstantAddedToARowOfScoresMovesOnlyItsLse) {
  // A key component that all keys share adds the same amount to every score of a row
  const AttentionProblem problem = problem_of(20, 30, 4);
  AttentionInputs inputs = make_inputs(problem, {InputKind::gaussian, 4});
  for (Index k = 0; k < 30; ++k) inputs.K.at(0, 0, k, 3) = 1.0;
  for (Index q = 0; q < 20; ++q) inputs.Q.at(0, 0, q, 3) = 0.0;
  const ForwardResult before = naive_forward(problem, inputs);
  for (Index q = 0; q < 20; ++q) inputs.Q.at(0, 0, q, 3) = 2000.0;  // scores move by 1000
  const ForwardResult after = naive_forward(problem, inputs);
  EXPECT_TRUE(is_near(after.O, before.O, 1e-11));
  for (std::size_t q = 0; q < 20; ++q) {
    EXPECT_NEAR(after.LSE.data[q], before.LSE.data[q] + 1000.0, 1e-11);
  }
}

TEST(NaiveForward, ThePermutationOfKeysLeavesTheOutputUnchanged) {
  const AttentionProblem problem = problem_of(33, 47, 8);
  const AttentionInputs inputs = make_inputs(problem, {InputKind::outlier, 6});
  AttentionInputs permuted = inputs;
  for (Index k = 0; k < 47; ++k) {
    for (Index c = 0; c < 8; ++c) {
      permuted.K.at(0, 0, k * 5 % 47, c) = inputs.K.at(0, 0, k, c);
      permuted.V.at(0, 0, k * 5 % 47, c) = inputs.V.at(0, 0, k, c);
    }
  }
  const ForwardResult a = naive_forward(problem, inputs);
  const ForwardResult b = naive_forward(problem, permuted);
  EXPECT_TRUE(is_near(a.O, b.O, 1e-13));
  EXPECT_TRUE(is_near(a.LSE, b.LSE, 1e-12));
}

TEST(NaiveForward, EmptyRowGivesZeroOutputAndMinusInfinityLse) {
  const AttentionProblem problem = problem_of(200, 50, 4, Mask::causal());
  const ForwardResult result = naive_forward(problem, make_inputs(problem, {}));
  for (Index q = 0; q < 200; ++q) {
    const bool is_empty = q < 150;
    EXPECT_EQ(result.LSE.at(0, 0, q, 0) == -kInfinity, is_empty) << q;
    for (Index c = 0; c < 4; ++c) EXPECT_EQ(result.O.at(0, 0, q, c) == 0.0, is_empty) << q;
  }
}

TEST(NaiveForward, GroupedHeadsEqualRepeatedKeysAndValues) {
  AttentionProblem grouped = problem_of(21, 34, 8, Mask::causal());
  grouped.batch = 2;
  grouped.heads = 6;
  grouped.kv_heads = 2;
  const AttentionInputs inputs = make_inputs(grouped, {InputKind::gaussian, 3});
  AttentionProblem full = grouped;
  full.kv_heads = 6;
  AttentionInputs repeated = inputs;
  repeated.K = repeated.V = HeadTensor(2, 6, 34, 8);
  for (Index b = 0; b < 2; ++b) {
    for (Index h = 0; h < 6; ++h) {
      std::ranges::copy(inputs.K.head(b, h / 3), repeated.K.head(b, h).begin());
      std::ranges::copy(inputs.V.head(b, h / 3), repeated.V.head(b, h).begin());
    }
  }
  const ForwardResult a = naive_forward(grouped, inputs);
  const ForwardResult b = naive_forward(full, repeated);
  EXPECT_EQ(a.O, b.O);
  EXPECT_EQ(a.LSE, b.LSE);
}

TEST(NaiveForward, CausalEqualsAWindowOfAllKeysBefore) {
  const AttentionProblem causal = problem_of(40, 60, 8, Mask::causal());
  const AttentionProblem window = problem_of(40, 60, 8, Mask::window(1000, 0));
  const AttentionInputs inputs = make_inputs(causal, {});
  EXPECT_EQ(naive_forward(causal, inputs).O, naive_forward(window, inputs).O);
}

TEST(PartialForward, AllKeysGiveTheRowOfTheForwardPass) {
  AttentionProblem problem = problem_of(30, 40, 8, Mask::causal());
  problem.heads = 4;
  problem.kv_heads = 2;
  const AttentionInputs inputs = make_inputs(problem, {InputKind::outlier, 5});
  const ForwardResult forward = naive_forward(problem, inputs);
  for (const Index query : {0, 13, 29}) {
    const PartialRow row = partial_forward(problem, inputs, 0, 3, query, {0, problem.N_kv});
    EXPECT_NEAR(row.m + std::log(row.l), forward.LSE.at(0, 3, query, 0), 1e-12);
    for (Index c = 0; c < 8; ++c) {
      EXPECT_NEAR(row.O[static_cast<std::size_t>(c)], forward.O.at(0, 3, query, c), 1e-12);
    }
  }
}

TEST(PartialForward, FewerKeysEqualAShorterProblem) {
  const AttentionProblem problem = problem_of(4, 40, 8);
  const AttentionInputs inputs = make_inputs(problem, {});
  const PartialRow row = partial_forward(problem, inputs, 0, 0, 2, {0, 17});
  const auto sees_prefix = [](Index, Index k) { return k < 17; };
  const ForwardResult plain = test::plain_forward(problem, inputs, sees_prefix);
  EXPECT_NEAR(row.m + std::log(row.l), plain.LSE.at(0, 0, 2, 0), 1e-13);
  EXPECT_TRUE(is_near(row.O, plain.O.head(0, 0).subspan(16, 8), 1e-13));
  EXPECT_GE(row.l, 1.0);
}

TEST(PartialForward, NoKeysGiveTheStateBeforeTheFirst) {
  const AttentionProblem problem = problem_of(4, 40, 3, Mask::window(2, 0));
  const AttentionInputs inputs = make_inputs(problem, {});
  for (const Index key_end : {0, 34}) {  // query 0 sees keys 34 to 36
    const PartialRow row = partial_forward(problem, inputs, 0, 0, 0, {0, key_end});
    EXPECT_EQ(row.m, -kInfinity);
    EXPECT_EQ(row.l, 0.0);
    EXPECT_EQ(row.O, std::vector<double>(3, 0.0));
  }
  EXPECT_EQ(partial_forward(problem, inputs, 0, 0, 0, {0, 35}).l, 1.0);
}

}  // namespace
}  // namespace attnscope
