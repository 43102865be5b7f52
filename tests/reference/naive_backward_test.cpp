#include <gtest/gtest.h>

#include <cmath>

#include "reference/naive_attention.h"
#include "tests/support/finite_differences.h"
#include "tests/support/tensor_assertions.h"

namespace attnscope {
namespace {

using test::is_near;

void expect_equals_finite_differences(const AttentionProblem& problem) {
  ASSERT_EQ(validate(problem), std::nullopt);
  const AttentionInputs inputs = make_inputs(problem, {InputKind::gaussian, 12});
  const Gradients gradients = naive_backward(problem, inputs, naive_forward(problem, inputs));
  const auto differences = [&](auto member) {
    return test::finite_differences(problem, inputs, member);
  };
  EXPECT_TRUE(is_near(gradients.dQ, differences(&AttentionInputs::Q), 1e-8));
  EXPECT_TRUE(is_near(gradients.dK, differences(&AttentionInputs::K), 1e-8));
  EXPECT_TRUE(is_near(gradients.dV, differences(&AttentionInputs::V), 1e-8));
}

AttentionProblem small_problem(Index N, Index N_kv, const Mask& mask) {
  AttentionProblem problem;
  problem.batch = 2;
  problem.heads = 4;
  problem.kv_heads = 2;
  problem.N = N;
  problem.N_kv = N_kv;
  problem.d = 3;
  problem.mask = mask;
  return problem;
}

TEST(NaiveBackward, EqualsFiniteDifferences) {
  for (const auto& [N, N_kv] : {std::pair<Index, Index>{5, 7}, {7, 4}, {6, 6}}) {
    for (const Mask& mask : {Mask::none(), Mask::causal(), Mask::window(2, 1),
                             Mask::causal(Mask::Alignment::top_left)}) {
      SCOPED_TRACE(to_string(mask));
      expect_equals_finite_differences(small_problem(N, N_kv, mask));
    }
  }
}

TEST(NaiveBackward, EqualsFiniteDifferencesUnderEveryScoreFunction) {
  const std::vector<double> slopes = standard_alibi_slopes(4);
  const ScoreFunction functions[] = {
      {1.5, {}, {}}, {{}, slopes, {}}, {{}, {}, {0.4, 6}}, {1.5, slopes, {0.4, 6}}};
  for (const ScoreFunction& score : functions) {
    for (const Mask& mask : {Mask::none(), Mask::causal()}) {
      SCOPED_TRACE(to_string(score) + ", mask " + to_string(mask));
      AttentionProblem problem = small_problem(5, 6, mask);
      problem.score = score;
      expect_equals_finite_differences(problem);
    }
  }
}

TEST(NaiveBackward, EqualsFiniteDifferencesWithKeyLengthsAndPackedSequences) {
  for (const Mask& mask : {Mask::none(), Mask::causal(), Mask::window(1, 0)}) {
    SCOPED_TRACE(to_string(mask));
    AttentionProblem padded = small_problem(5, 6, mask);
    padded.key_lengths = {3, 0};
    padded.score = {1.5, standard_alibi_slopes(4), {0.4, 6}};
    expect_equals_finite_differences(padded);

    AttentionProblem packed = small_problem(7, 8, mask);
    packed.batch = 1;
    packed.cu_seqlens_q = {0, 3, 3, 7};
    packed.cu_seqlens_k = {0, 2, 5, 8};
    packed.score = {1.5, standard_alibi_slopes(4), {0.4, 6}};
    expect_equals_finite_differences(packed);
  }
}

/// One problem larger than a block of rows, compared with the same rows in two smaller problems.
TEST(NaiveBackward, LongProblemsEqualTheSumOverTheirQueries) {
  AttentionProblem whole;
  whole.N = 200;
  whole.N_kv = 150;
  whole.d = 8;
  const AttentionInputs inputs = make_inputs(whole, {InputKind::gaussian, 1});
  const Gradients expected = naive_backward(whole, inputs, naive_forward(whole, inputs));
  AttentionProblem half = whole;
  half.N = 100;
  HeadTensor dK(1, 1, 150, 8), dV(1, 1, 150, 8);
  for (Index part = 0; part < 2; ++part) {
    AttentionInputs some = inputs;
    some.Q = some.dO = HeadTensor(1, 1, 100, 8);
    std::ranges::copy(inputs.Q.head(0, 0).subspan(static_cast<std::size_t>(part) * 800, 800),
                      some.Q.data.begin());
    std::ranges::copy(inputs.dO.head(0, 0).subspan(static_cast<std::size_t>(part) * 800, 800),
                      some.dO.data.begin());
    const Gradients gradients = naive_backward(half, some, naive_forward(half, some));
    EXPECT_TRUE(is_near(gradients.dQ.data,
                        expected.dQ.head(0, 0).subspan(static_cast<std::size_t>(part) * 800, 800),
                        1e-13));
    for (std::size_t n = 0; n < dK.data.size(); ++n) {
      dK.data[n] += gradients.dK.data[n];
      dV.data[n] += gradients.dV.data[n];
    }
  }
  EXPECT_TRUE(is_near(dK, expected.dK, 1e-12));
  EXPECT_TRUE(is_near(dV, expected.dV, 1e-12));
}

TEST(NaiveBackward, EmptyRowsAndUnseenKeysHaveZeroGradients) {
  AttentionProblem problem;
  problem.N = 6;
  problem.N_kv = 3;
  problem.d = 4;
  problem.mask = Mask::causal();  // queries 0 to 2 see nothing
  AttentionInputs inputs = make_inputs(problem, {});
  Gradients gradients = naive_backward(problem, inputs, naive_forward(problem, inputs));
  for (Index q = 0; q < 3; ++q) {
    for (Index c = 0; c < 4; ++c) EXPECT_EQ(gradients.dQ.at(0, 0, q, c), 0.0);
  }

  problem.N = 3;
  problem.N_kv = 6;
  problem.mask = Mask::causal(Mask::Alignment::top_left);  // no query sees keys 3 to 5
  inputs = make_inputs(problem, {});
  gradients = naive_backward(problem, inputs, naive_forward(problem, inputs));
  for (Index k = 0; k < 6; ++k) {
    EXPECT_EQ(gradients.dV.at(0, 0, k, 0) == 0.0, k >= 3) << k;
    EXPECT_EQ(gradients.dK.at(0, 0, k, 0) == 0.0, k >= 3) << k;
  }
}

TEST(NaiveBackward, GroupedHeadsSumTheGradientsOfTheirGroup) {
  AttentionProblem grouped;
  grouped.heads = 4;
  grouped.kv_heads = 2;
  grouped.N = grouped.N_kv = 10;
  grouped.d = 4;
  const AttentionInputs inputs = make_inputs(grouped, {InputKind::gaussian, 3});
  AttentionProblem full = grouped;
  full.kv_heads = 4;
  AttentionInputs repeated = inputs;
  repeated.K = repeated.V = HeadTensor(1, 4, 10, 4);
  for (Index h = 0; h < 4; ++h) {
    std::ranges::copy(inputs.K.head(0, h / 2), repeated.K.head(0, h).begin());
    std::ranges::copy(inputs.V.head(0, h / 2), repeated.V.head(0, h).begin());
  }
  const Gradients a = naive_backward(grouped, inputs, naive_forward(grouped, inputs));
  const Gradients b = naive_backward(full, repeated, naive_forward(full, repeated));
  EXPECT_EQ(a.dQ, b.dQ);
  for (Index g = 0; g < 2; ++g) {
    for (std::size_t n = 0; n < 40; ++n) {
      EXPECT_NEAR(a.dK.head(0, g)[n], b.dK.head(0, 2 * g)[n] + b.dK.head(0, 2 * g + 1)[n], 1e-14);
      EXPECT_NEAR(a.dV.head(0, g)[n], b.dV.head(0, 2 * g)[n] + b.dV.head(0, 2 * g + 1)[n], 1e-14);
    }
  }
}

}  // namespace
}  // namespace attnscope
