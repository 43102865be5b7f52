#include <gtest/gtest.h>

#include "reference/key_splits.h"

namespace attnscope {
namespace {

TEST(SplitCount, FillsTheSmsWithEquallyLongSplits) {
  AttentionProblem problem{.batch = 1, .heads = 8, .kv_heads = 8, .N = 1, .N_kv = 65536, .d = 128};
  // 15 splits make 120 thread blocks for 132 SMs: 91 %
  EXPECT_EQ(split_count(problem, {64, 128}, 132), 15);
  problem.batch = 64;  // 512 thread blocks already
  EXPECT_EQ(split_count(problem, {64, 128}, 132), 1);
  problem.batch = 1;
  problem.N_kv = 256;  // two column tiles
  EXPECT_LE(split_count(problem, {64, 128}, 132), 2);
}

TEST(SplitCount, FillsTheMultiprocessorsWithFewQueriesAndIsOneWithMany) {
  const Tiling tiling{16, 64};
  AttentionProblem decoding{.heads = 8, .kv_heads = 8, .N = 1, .N_kv = 65536, .d = 128, .mask = {}};
  const Index splits = split_count(decoding, tiling, 132);
  EXPECT_GE(8 * splits, 132 * 4 / 5);
  EXPECT_LE(splits, most_splits(decoding, tiling));
  decoding.N_kv = 100;  // two column tiles
  EXPECT_LE(split_count(decoding, tiling, 132), 2);
  AttentionProblem prefill = decoding;
  prefill.N = prefill.N_kv = 4096;
  EXPECT_EQ(split_count(prefill, tiling, 132), 1);
  EXPECT_EQ(most_splits(prefill, tiling), 1);
}

}  // namespace
}  // namespace attnscope
