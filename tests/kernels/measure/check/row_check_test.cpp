#include "kernels/measure/check/row_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "reference/naive_attention.h"
#include "reference/unfused_attention.h"
#include "tests/support/listed_block_mask.h"

namespace attnscope::kernels {
namespace {

AttentionProblem problem_of(Index N, Index N_kv, Mask mask) {
  AttentionProblem problem;
  problem.batch = 2;
  problem.heads = 4;
  problem.kv_heads = 2;
  problem.N = N;
  problem.N_kv = N_kv;
  problem.d = 16;
  problem.mask = mask;
  return problem;
}

/// Reads rows of whole tensors, as from a GPU's memory.
struct RowMemory {
  AttentionInputs inputs;
  ForwardResult output;

  FetchRows fetch() const {
    return [this](CheckedTensor tensor, Index b, Index h, Index begin, Index count) {
      const HeadTensor* tensors[] = {&inputs.Q, &inputs.K, &inputs.V, &output.O, &output.LSE};
      const HeadTensor& from = *tensors[static_cast<int>(tensor)];
      const auto head = from.head(b, h);
      const auto first = head.begin() + begin * from.cols;
      return std::vector<double>(first, first + count * from.cols);
    };
  }
};

TEST(ChooseRows, TakesAllRowsOfASmallProblem) {
  const auto blocks = choose_rows(problem_of(8, 8, Mask::none()), 64);
  ASSERT_EQ(blocks.size(), 8u);
  EXPECT_EQ(blocks[7], (CheckedRows{1, 3, 0, 8}));
}

TEST(ChooseRows, TakesAboutSoManyRowsWithTheFirstAndTheLast) {
  const AttentionProblem problem = problem_of(1000, 1000, Mask::none());
  const auto blocks = choose_rows(problem, 64);
  ASSERT_EQ(blocks.size(), 8u);
  EXPECT_EQ(blocks.front(), (CheckedRows{0, 0, 0, 8}));
  EXPECT_EQ(blocks.back(), (CheckedRows{1, 3, 992, 8}));
  for (const CheckedRows& block : blocks) EXPECT_LE(block.begin + block.count, problem.N);
}

TEST(CheckRows, BlocksOfRowsEqualTheSameRowsOfTheWholeProblem) {
  const Mask masks[] = {Mask::none(), Mask::causal(), Mask::causal(Mask::Alignment::top_left),
                        Mask::window(5, 2)};
  for (const Mask& mask : masks) {
    for (const auto& [N, N_kv] : {std::pair<Index, Index>{40, 40}, {40, 23}, {23, 40}}) {
      const AttentionProblem problem = problem_of(N, N_kv, mask);
      RowMemory memory{make_inputs(problem, {}), {}};
      memory.output = naive_forward(problem, memory.inputs);
      const auto accuracy = check_rows(problem, choose_rows(problem, 48), memory.fetch());
      ASSERT_TRUE(accuracy.ok()) << accuracy.error().message;
      EXPECT_EQ(accuracy.value().rows_checked, 48) << to_string(mask);
      EXPECT_LE(accuracy.value().max_abs_error, 1e-13) << to_string(mask) << N << " " << N_kv;
      EXPECT_LE(accuracy.value().lse_max_abs_error, 1e-13);
      EXPECT_GT(accuracy.value().unfused_max_abs_error.value(), 1e-4);
      EXPECT_TRUE(accuracy.value().within_tolerance);
    }
  }
}

TEST(CheckRows, TakesTheRowsOfABlockMask) {
  for (const Mask& mask : {Mask::none(), Mask::causal(), Mask::causal(Mask::Alignment::top_left)}) {
    AttentionProblem problem = problem_of(44, 41, mask);
    problem.block_mask = test::listed_block_mask({12, 16}, 3, {{0, 1}, {}, {2}, {0, 2}});
    RowMemory memory{make_inputs(problem, {}), {}};
    memory.output = naive_forward(problem, memory.inputs);
    const auto accuracy = check_rows(problem, choose_rows(problem, 160), memory.fetch());
    ASSERT_TRUE(accuracy.ok()) << accuracy.error().message;
    EXPECT_EQ(accuracy.value().rows_checked, 160);
    EXPECT_LE(accuracy.value().max_abs_error, 1e-13) << to_string(mask);
    EXPECT_LE(accuracy.value().lse_max_abs_error, 1e-13);
    EXPECT_TRUE(accuracy.value().within_tolerance);

    // The dense result is wrong under this mask
    AttentionProblem dense = problem;
    dense.block_mask = nullptr;
    memory.output = naive_forward(dense, memory.inputs);
    const auto wrong = check_rows(problem, choose_rows(problem, 160), memory.fetch());
    EXPECT_TRUE(!wrong.ok() || !wrong.value().within_tolerance) << to_string(mask);
  }
}

/// Problems whose rows are not just a softmax over all keys up to the diagonal.
std::vector<AttentionProblem> scored_problems() {
  AttentionProblem scored = problem_of(40, 53, Mask::window(9, 4));
  scored.score.soft_cap = 2.0;
  scored.score.alibi_slopes = standard_alibi_slopes(scored.heads);
  scored.score.dropout = {.probability = 0.3, .seed = 5};
  AttentionProblem padded = problem_of(40, 53, Mask::causal());
  padded.key_lengths = {53, 11};
  AttentionProblem padded_scored = scored;
  padded_scored.key_lengths = {0, 30};
  AttentionProblem packed = scored;
  packed.batch = 1;
  packed.cu_seqlens_q = {0, 7, 7, 40};
  packed.cu_seqlens_k = {0, 20, 31, 53};
  AttentionProblem packed_plain = packed;
  packed_plain.score = {};
  return {scored, padded, padded_scored, packed, packed_plain};
}

/// The same problems, and one with a window, under a block mask that leaves one row tile without
/// keys.
std::vector<AttentionProblem> sparse_scored_problems() {
  std::vector<AttentionProblem> problems = scored_problems();
  problems.push_back(problem_of(40, 53, Mask::window(9, 4)));
  for (AttentionProblem& problem : problems) {
    problem.block_mask = test::listed_block_mask({12, 16}, 4, {{0, 1}, {}, {1, 2, 3}, {0, 2}});
  }
  return problems;
}

TEST(CheckRows, TakesABlockMaskWithScoreFunctionsWindowsAndSequences) {
  for (const AttentionProblem& problem : sparse_scored_problems()) {
    RowMemory memory{make_inputs(problem, {}), {}};
    memory.output = naive_forward(problem, memory.inputs);
    const auto accuracy = check_rows(problem, choose_rows(problem, 160), memory.fetch());
    ASSERT_TRUE(accuracy.ok()) << accuracy.error().message;
    EXPECT_LE(accuracy.value().max_abs_error, 1e-13) << extras_text(problem);
    EXPECT_LE(accuracy.value().lse_max_abs_error, 1e-13) << extras_text(problem);
    EXPECT_TRUE(accuracy.value().within_tolerance);
    memory.output = unfused_forward(problem, memory.inputs);
    const auto yardstick = check_rows(problem, choose_rows(problem, 160), memory.fetch());
    ASSERT_TRUE(yardstick.ok()) << yardstick.error().message;
    EXPECT_TRUE(yardstick.value().within_tolerance) << extras_text(problem);

    // The dense result is wrong under this mask
    AttentionProblem dense = problem;
    dense.block_mask = nullptr;
    memory.output = naive_forward(dense, memory.inputs);
    const auto wrong = check_rows(problem, choose_rows(problem, 160), memory.fetch());
    EXPECT_TRUE(!wrong.ok() || !wrong.value().within_tolerance) << extras_text(problem);
  }
}

TEST(CheckRows, RowsOfAScoreFunctionEqualTheSameRowsOfTheWholeProblem) {
  for (const AttentionProblem& problem : scored_problems()) {
    RowMemory memory{make_inputs(problem, {}), {}};
    memory.output = naive_forward(problem, memory.inputs);
    const auto accuracy = check_rows(problem, choose_rows(problem, 48), memory.fetch());
    ASSERT_TRUE(accuracy.ok()) << accuracy.error().message;
    EXPECT_LE(accuracy.value().max_abs_error, 1e-13) << extras_text(problem);
    EXPECT_LE(accuracy.value().lse_max_abs_error, 1e-13) << extras_text(problem);
    const ForwardResult unfused = unfused_forward(problem, memory.inputs);
    memory.output = unfused;
    const auto yardstick = check_rows(problem, choose_rows(problem, 48), memory.fetch());
    ASSERT_TRUE(yardstick.ok());
    EXPECT_NEAR(yardstick.value().max_abs_error, *accuracy.value().unfused_max_abs_error,
                0.1 * yardstick.value().max_abs_error)
        << extras_text(problem);
  }
}

TEST(CheckRows, TheUnfusedComputationItselfIsWithinTolerance) {
  const AttentionProblem problem = problem_of(32, 32, Mask::causal());
  RowMemory memory{make_inputs(problem, {}), {}};
  memory.output = unfused_forward(problem, memory.inputs);
  const auto accuracy = check_rows(problem, choose_rows(problem, 1000), memory.fetch());
  ASSERT_TRUE(accuracy.ok());
  EXPECT_EQ(accuracy.value().rows_checked, 2 * 4 * 32);
  EXPECT_GT(accuracy.value().max_abs_error, 0.0);
  EXPECT_TRUE(accuracy.value().within_tolerance);
}

TEST(CheckRows, DetectsAWrongValue) {
  const AttentionProblem problem = problem_of(32, 32, Mask::none());
  RowMemory memory{make_inputs(problem, {}), {}};
  memory.output = naive_forward(problem, memory.inputs);
  memory.output.O.at(1, 3, 31, 15) += 0.5;
  auto accuracy = check_rows(problem, choose_rows(problem, 1000), memory.fetch());
  ASSERT_TRUE(accuracy.ok());
  EXPECT_NEAR(accuracy.value().max_abs_error, 0.5, 1e-12);
  EXPECT_FALSE(accuracy.value().within_tolerance);

  memory.output = naive_forward(problem, memory.inputs);
  memory.output.LSE.at(0, 0, 0, 0) += 0.5;
  accuracy = check_rows(problem, choose_rows(problem, 1000), memory.fetch());
  EXPECT_FALSE(accuracy.value().within_tolerance);
}

TEST(CheckRows, RefusesNanAndInfinity) {
  const AttentionProblem problem = problem_of(8, 8, Mask::none());
  for (double bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    RowMemory memory{make_inputs(problem, {}), {}};
    memory.output = naive_forward(problem, memory.inputs);
    memory.output.O.at(0, 0, 3, 3) = bad;
    const auto accuracy = check_rows(problem, choose_rows(problem, 1000), memory.fetch());
    ASSERT_FALSE(accuracy.ok());
    EXPECT_EQ(accuracy.error().kind, Error::Kind::failed);
  }
}

}  // namespace
}  // namespace attnscope::kernels
