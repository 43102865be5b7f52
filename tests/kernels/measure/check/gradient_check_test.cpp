#include "kernels/measure/check/gradient_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "reference/naive_attention.h"
#include "reference/unfused_attention.h"
#include "tests/support/listed_block_mask.h"

namespace attnscope::kernels {
namespace {

/// A finished backward pass, read row by row as from a GPU's memory.
struct GradientMemory {
  AttentionProblem problem;
  AttentionInputs inputs;
  ForwardResult forward;
  Gradients gradients;

  Result<GradientAccuracy> check(Index rows) const {
    return check_gradients(
        problem, rows, [this](CheckedTensor tensor, Index b, Index h, Index begin, Index count) {
          const HeadTensor* tensors[] = {&inputs.Q,     &inputs.K,     &inputs.V,
                                         &forward.O,    &forward.LSE,  &inputs.dO,
                                         &gradients.dQ, &gradients.dK, &gradients.dV};
          const HeadTensor& from = *tensors[static_cast<int>(tensor)];
          const auto head = from.head(b, h);
          const auto first = head.begin() + begin * from.cols;
          return std::vector<double>(first, first + count * from.cols);
        });
  }
};

void run_reference(GradientMemory& memory) {
  memory.inputs = make_inputs(memory.problem, {});
  memory.forward = naive_forward(memory.problem, memory.inputs);
  memory.gradients = naive_backward(memory.problem, memory.inputs, memory.forward);
}

GradientMemory exact(Index N, Index N_kv, const Mask& mask,
                     std::shared_ptr<const BlockMask> block_mask = nullptr) {
  GradientMemory memory;
  memory.problem.block_mask = std::move(block_mask);
  memory.problem.heads = 4;
  memory.problem.kv_heads = 2;
  memory.problem.N = N;
  memory.problem.N_kv = N_kv;
  memory.problem.d = 64;
  memory.problem.mask = mask;
  run_reference(memory);
  return memory;
}

// Larger than the sizes for which the whole reference is computed
constexpr Index kLargeN = 1200;

TEST(CheckGradients, BlocksOfALargeProblemEqualTheWhole) {
  for (const Mask& mask : {Mask::none(), Mask::causal()}) {
    const GradientMemory memory = exact(kLargeN, kLargeN + 17, mask);
    const auto accuracy = memory.check(32);
    ASSERT_TRUE(accuracy.ok()) << accuracy.error().message;
    EXPECT_EQ(accuracy.value().rows_checked, 32);
    EXPECT_EQ(accuracy.value().keys_checked, 32);
    for (const GradientError& error :
         {accuracy.value().dQ, accuracy.value().dK, accuracy.value().dV}) {
      EXPECT_LE(error.max_abs_error, 1e-12) << to_string(mask);
      EXPECT_GT(error.unfused_max_abs_error, 1e-6) << to_string(mask);
    }
    EXPECT_TRUE(accuracy.value().within_tolerance);
  }
}

TEST(CheckGradients, BlocksOfALargeProblemObeyItsBlockMask) {
  const auto mask = test::listed_block_mask({400, 300}, 4, {{0, 3}, {}, {1, 2}});
  GradientMemory memory = exact(kLargeN, kLargeN, Mask::causal(), mask);
  const auto accuracy = memory.check(64);
  ASSERT_TRUE(accuracy.ok()) << accuracy.error().message;
  for (const GradientError& error :
       {accuracy.value().dQ, accuracy.value().dK, accuracy.value().dV}) {
    EXPECT_LE(error.max_abs_error, 1e-12);
  }
  EXPECT_TRUE(accuracy.value().within_tolerance);
  memory.problem.block_mask = nullptr;
  const auto dense = memory.check(64);
  EXPECT_TRUE(!dense.ok() || !dense.value().within_tolerance);
}

TEST(CheckGradients, BlocksOfALargeProblemWithAScoreFunctionEqualTheWhole) {
  AttentionProblem scored{.heads = 4, .kv_heads = 2, .N = kLargeN, .N_kv = kLargeN + 17};
  scored.mask = Mask::window(300, 200);
  scored.score.soft_cap = 2.0;
  scored.score.alibi_slopes = {0.02, 0.01, 0.005, 0.002};
  scored.score.dropout = {.probability = 0.3, .seed = 5};
  AttentionProblem packed = scored;
  packed.cu_seqlens_q = {0, 500, 500, kLargeN};
  packed.cu_seqlens_k = {0, 700, 900, kLargeN + 17};
  scored.key_lengths = {kLargeN - 100};
  AttentionProblem sparse = packed;  // whose second row tile sees nothing
  sparse.block_mask = test::listed_block_mask({400, 300}, 5, {{0, 3}, {}, {1, 3, 4}});
  AttentionProblem sparse_window = sparse;
  sparse_window.score = {};
  for (const AttentionProblem& problem : {scored, packed, sparse, sparse_window}) {
    GradientMemory memory{.problem = problem, .inputs = {}, .forward = {}, .gradients = {}};
    run_reference(memory);
    const auto accuracy = memory.check(32);
    ASSERT_TRUE(accuracy.ok()) << accuracy.error().message;
    for (const GradientError& error :
         {accuracy.value().dQ, accuracy.value().dK, accuracy.value().dV}) {
      EXPECT_LE(error.max_abs_error, 1e-12) << extras_text(problem);
      EXPECT_GT(error.unfused_max_abs_error, 1e-6) << extras_text(problem);
    }
    memory.gradients = unfused_backward(memory.problem, memory.inputs);
    const auto yardstick = memory.check(32);
    ASSERT_TRUE(yardstick.ok());
    EXPECT_TRUE(yardstick.value().within_tolerance) << extras_text(problem);
  }
}

TEST(CheckGradients, TheUnfusedComputationItselfIsWithinTolerance) {
  for (const Index N : {Index{40}, kLargeN}) {
    GradientMemory memory = exact(N, N, Mask::causal());
    memory.gradients = unfused_backward(memory.problem, memory.inputs);
    const auto accuracy = memory.check(32);
    ASSERT_TRUE(accuracy.ok());
    EXPECT_TRUE(accuracy.value().within_tolerance) << N;
    EXPECT_GT(accuracy.value().dK.max_abs_error, 0.0);
  }
}

TEST(CheckGradients, AWrongGradientIsOutsideTheTolerance) {
  for (HeadTensor Gradients::*wrong : {&Gradients::dQ, &Gradients::dK, &Gradients::dV}) {
    for (const Index N : {Index{40}, kLargeN}) {
      GradientMemory memory = exact(N, N, Mask::none());
      for (double& value : (memory.gradients.*wrong).data) value *= 1.1;
      const auto accuracy = memory.check(32);
      ASSERT_TRUE(accuracy.ok());
      EXPECT_FALSE(accuracy.value().within_tolerance) << N;
    }
  }
}

TEST(CheckGradients, NaNIsAFailureThatNamesTheTensor) {
  GradientMemory memory = exact(40, 40, Mask::none());
  memory.gradients.dV.at(0, 1, 3, 5) = std::numeric_limits<double>::quiet_NaN();
  const auto accuracy = memory.check(32);
  ASSERT_FALSE(accuracy.ok());
  EXPECT_THAT(accuracy.error().message, ::testing::HasSubstr("dV contains NaN"));
}

}  // namespace
}  // namespace attnscope::kernels
