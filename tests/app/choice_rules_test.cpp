#include "app/choice_rules.h"

#include <gtest/gtest.h>

namespace attnscope::app {
namespace {

Choice choice_of(Index N) {
  Choice choice;
  choice.problem.N = choice.problem.N_kv = N;
  choice.tiling = {16, 16};
  return choice;
}

TEST(ChoiceRules, StandardSlopesFollowTheHeads) {
  Choice before = choice_of(64);
  before.problem.score.alibi_slopes = standard_alibi_slopes(1);
  Choice after = before;
  after.problem.heads = after.problem.kv_heads = 4;
  EXPECT_EQ(with_consequences(before, after).problem.score.alibi_slopes, standard_alibi_slopes(4));
  before.problem.score.alibi_slopes = {0.3};
  after = before;
  after.problem.heads = 4;
  EXPECT_EQ(with_consequences(before, after).problem.score.alibi_slopes, std::vector<double>{0.3});
}

TEST(ChoiceRules, KeyLengthsAndSequencesKeepTheirProportions) {
  Choice before = choice_of(64);
  before.problem.key_lengths = {48};
  Choice after = before;
  after.problem.N = after.problem.N_kv = 128;
  after.problem.batch = 2;
  EXPECT_EQ(with_consequences(before, after).problem.key_lengths, (std::vector<Index>{96, 96}));

  before = choice_of(60);
  before.problem.cu_seqlens_q = before.problem.cu_seqlens_k = packed_ends(3, 60);
  after = before;
  after.problem.N = after.problem.N_kv = 120;
  const AttentionProblem problem = with_consequences(before, after).problem;
  EXPECT_EQ(problem.cu_seqlens_q, (std::vector<Index>{0, 20, 60, 120}));
  EXPECT_FALSE(validate(problem));
}

TEST(ChoiceRules, PackedSequencesGrowAndFillTheAxis) {
  EXPECT_EQ(packed_ends(3, 60), (std::vector<Index>{0, 10, 30, 60}));
  EXPECT_EQ(packed_ends(2, 64), (std::vector<Index>{0, 21, 64}));
}

TEST(ChoiceRules, SplitsAndVariantsGoWithTheirAlgorithm) {
  Choice before = choice_of(64);
  before.algorithm = "split_kv";
  before.splits = 3;
  before.separate_heads = true;
  Choice after = before;
  after.algorithm = "standard";
  after = with_consequences(before, after);
  EXPECT_EQ(after.splits, 0);
  EXPECT_FALSE(after.separate_heads);
  after.variant.checkpoint = true;
  Choice flash = after;
  flash.algorithm = "flash1";
  flash = with_consequences(after, flash);
  EXPECT_EQ(flash.variant, ScheduleVariant{});
  flash.variant.d_once = true;
  Choice back = flash;
  back.algorithm = "flash2";
  EXPECT_EQ(with_consequences(flash, back).variant, ScheduleVariant{});
}

TEST(ChoiceRules, ABlockMaskComesAndGoesWithTheAlgorithm) {
  const Choice dense = choice_of(64);
  Choice sparse = dense;
  sparse.algorithm = "block_sparse";
  sparse = with_consequences(dense, sparse);
  ASSERT_TRUE(sparse.block_mask);
  EXPECT_EQ(to_string(*sparse.block_mask), "butterfly");
  Choice back = sparse;
  back.algorithm = "flash2";
  EXPECT_FALSE(with_consequences(sparse, back).block_mask);
}

}  // namespace
}  // namespace attnscope::app
