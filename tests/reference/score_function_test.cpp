#include "reference/score_function.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "reference/attention_problem.h"
#include "reference/dropout.h"

namespace attnscope {
namespace {

AttentionProblem with_dropout(double probability, std::uint64_t seed = 0) {
  AttentionProblem problem;
  problem.score.dropout = {probability, seed};
  return problem;
}

TEST(ScoreFunction, SoftCapsThatAreNotAboveZeroAreRefused) {
  for (const double cap : {0.0, -30.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    AttentionProblem problem;
    problem.score.soft_cap = cap;
    const auto error = validate(problem);
    ASSERT_TRUE(error.has_value()) << cap;
    EXPECT_EQ(error->field, "softcap");
    EXPECT_TRUE(words(*error, Reader::file).starts_with("softcap is")) << error->message;
  }
}

TEST(ScoreFunction, DropoutOutsideZeroToOneIsRefused) {
  for (const double p : {-0.1, 1.0, 1.5, std::nan("")}) {
    const auto error = validate(with_dropout(p));
    ASSERT_TRUE(error.has_value()) << p;
    EXPECT_EQ(error->field, "dropout");
    EXPECT_NE(error->message.find("at least 0 and less than 1"), std::string::npos)
        << error->message;
  }
  EXPECT_EQ(validate(with_dropout(0.0)), std::nullopt);
  EXPECT_EQ(validate(with_dropout(0.999)), std::nullopt);
}

TEST(ScoreFunction, SlopesHaveToBeOneForEachHead) {
  AttentionProblem problem;
  problem.heads = problem.kv_heads = 3;
  problem.score.alibi_slopes = standard_alibi_slopes(4);
  EXPECT_TRUE(
      words(*validate(problem), Reader::file).starts_with("alibi has 4 slopes for 3 heads"));
  problem.score.alibi_slopes = standard_alibi_slopes(3);
  EXPECT_EQ(validate(problem), std::nullopt);
  problem.score.alibi_slopes[1] = std::nan("");
  EXPECT_TRUE(validate(problem).has_value());
}

TEST(ScoreFunction, StandardSlopesAreTheGeometricOnes) {
  const std::vector<double> slopes = standard_alibi_slopes(8);
  for (int h = 0; h < 8; ++h) EXPECT_EQ(slopes[static_cast<std::size_t>(h)], std::exp2(-(h + 1)));
}

TEST(ScoreFunction, NamesWhatItHas) {
  ScoreFunction score;
  EXPECT_EQ(to_string(score), "none");
  score = {30.0, {0.5}, {0.1, 7}};
  EXPECT_EQ(to_string(score), "softcap 30, alibi, dropout 0.1 (seed 7)");
}

TEST(Alibi, IsTheDistanceFromTheBottomRightDiagonal) {
  AttentionProblem problem;
  problem.N = 3;
  problem.N_kv = 5;
  problem.score.alibi_slopes = {0.5};
  for (const auto alignment : {Mask::Alignment::bottom_right, Mask::Alignment::top_left}) {
    problem.mask = Mask::causal(alignment);
    EXPECT_EQ(problem.alibi_bias(0, 2, 4), 0.0);
    EXPECT_EQ(problem.alibi_bias(0, 0, 0), -1.0);
    EXPECT_EQ(problem.alibi_bias(0, 0, 4), -1.0);
  }
}

TEST(Alibi, CountsFromTheSequencesOwnDiagonal) {
  AttentionProblem problem;
  problem.N = 5;
  problem.N_kv = 7;
  problem.score.alibi_slopes = {1.0};
  problem.cu_seqlens_q = {0, 2, 5};
  problem.cu_seqlens_k = {0, 3, 7};
  ASSERT_EQ(validate(problem), std::nullopt);
  EXPECT_EQ(problem.alibi_bias(0, 1, 2), 0.0);   // last query and last key of the first sequence
  EXPECT_EQ(problem.alibi_bias(0, 4, 6), 0.0);   // and of the second
  EXPECT_EQ(problem.alibi_bias(0, 2, 3), -1.0);  // 4 keys, 3 queries: the first query faces key 4
}

TEST(Dropout, DropsTheAskedShareAndKeepsTheMean) {
  const AttentionProblem problem = with_dropout(0.25, 3);
  double sum = 0;
  int dropped = 0;
  constexpr int kSide = 256;
  for (Index query = 0; query < kSide; ++query) {
    for (Index key = 0; key < kSide; ++key) {
      const double factor = problem.dropout_factor(1, 2, query, key);
      ASSERT_TRUE(factor == 0.0 || factor == 1.0 / 0.75);
      sum += factor;
      dropped += factor == 0.0 ? 1 : 0;
    }
  }
  const double share = dropped / static_cast<double>(kSide * kSide);
  EXPECT_NEAR(share, 0.25, 5 * std::sqrt(0.25 * 0.75) / kSide);
  EXPECT_NEAR(sum / (kSide * kSide), 1.0, 0.02);
}

TEST(Dropout, EveryCoordinateAndTheSeedChangeTheWord) {
  const std::uint32_t word = dropout_word(1, 2, 3, 4, 5);
  EXPECT_EQ(dropout_word(1, 2, 3, 4, 5), word);
  EXPECT_NE(dropout_word(2, 2, 3, 4, 5), word);
  EXPECT_NE(dropout_word(1ull << 40, 2, 3, 4, 5), dropout_word(0, 2, 3, 4, 5));
  EXPECT_NE(dropout_word(1, 3, 3, 4, 5), word);
  EXPECT_NE(dropout_word(1, 2, 4, 4, 5), word);
  EXPECT_NE(dropout_word(1, 2, 3, 5, 5), word);
  EXPECT_NE(dropout_word(1, 2, 3, 4, 6), word);
}

TEST(Dropout, ACutOutHeadKeepsItsBits) {
  AttentionProblem cut = with_dropout(0.5, 9);
  cut.score.dropout.first_batch = 1;
  cut.score.dropout.first_head = 2;
  const AttentionProblem whole = with_dropout(0.5, 9);
  for (Index key = 0; key < 64; ++key) {
    EXPECT_EQ(cut.dropout_factor(0, 0, 5, key), whole.dropout_factor(1, 2, 5, key));
  }
}

}  // namespace
}  // namespace attnscope
