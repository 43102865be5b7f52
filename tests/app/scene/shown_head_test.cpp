#include "app/scene/shown_head.h"

#include <gtest/gtest.h>

namespace attnscope::app {
namespace {

ShownHead shown_of(Index batch, Index heads, Index kv_heads, Index index) {
  ResolvedRun run;
  run.asked.problem.batch = batch;
  run.asked.problem.heads = heads;
  run.asked.problem.kv_heads = kv_heads;
  run.problem = run.asked.problem;
  return shown_head(run, index);
}

TEST(ShownHead, NamesOnlyWhatThereIsMoreThanOneOf) {
  EXPECT_EQ(in_words(shown_of(1, 1, 1, 0)).front(), "one head");
  EXPECT_EQ(in_words(shown_of(1, 8, 8, 5)).front(), "head 5 (0-7)");
  EXPECT_EQ(in_words(shown_of(3, 1, 1, 1)).front(), "batch entry 1 (0-2), one head each");
  const std::vector<std::string> all = in_words(shown_of(2, 8, 2, 13));
  EXPECT_EQ(all.front(), "head 5 (0-7), KV head 1 (0-1), batch entry 1 (0-1)");
  EXPECT_EQ(all.back(), "head 5, KV 1, batch 1");
}

TEST(ShownHead, ARowOfAPackedGroupIsAHeadAndAQuery) {
  ShownHead shown = shown_of(1, 8, 2, 5);
  shown.packed = 4;
  shown.queries = 3;
  EXPECT_EQ(row_in_words(shown, 7), "head 6, query 1");
  EXPECT_EQ(in_words(shown).front(), "4 heads of a group × 3 queries, KV head 1 (0-1)");
  EXPECT_EQ(row_in_words(shown_of(1, 8, 2, 5), 7), "query row 7");
}

}  // namespace
}  // namespace attnscope::app
