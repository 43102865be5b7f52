#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/app.h"
#include "app/step_simulator.h"

namespace attnscope::app {
namespace {

Choice small_choice() {
  return load_scene("default").value().view.choice;
}

TEST(Refuse, AChoiceThatCanWorkIsNotRefused) {
  EXPECT_FALSE(refuse(small_choice(), "N", small_choice()));
}

TEST(Refuse, ATileThatDoesNotFitNamesTheNearestThatDoes) {
  Choice choice = small_choice();
  choice.tiling.Bc = 100000;
  const auto refused = refuse(choice, "Bc", small_choice());
  ASSERT_TRUE(refused);
  EXPECT_FALSE(refused->message.empty());
  ASSERT_TRUE(refused->nearest);
  EXPECT_FALSE(check_choice(*refused->nearest));
  EXPECT_GT(refused->nearest->tiling.Bc, 64);
  EXPECT_EQ(refused->nearest->tiling.Br, choice.tiling.Br);
  EXPECT_THAT(refused->nearest_label, testing::StartsWith("Bc = "));
}

TEST(Refuse, NoNumberNearerThanTheNearestOneWorks) {
  for (const char* field : {"Br", "Bc", "d"}) {
    Choice choice = small_choice();
    Choice next = choice;
    if (field == std::string("Br")) choice.tiling.Br = 5000;
    if (field == std::string("Bc")) choice.tiling.Bc = 5000;
    if (field == std::string("d")) choice.problem.d = 60000;
    const auto refused = refuse(choice, field, small_choice());
    ASSERT_TRUE(refused && refused->nearest) << field;
    next = *refused->nearest;
    if (field == std::string("Br")) ++next.tiling.Br;
    if (field == std::string("Bc")) ++next.tiling.Bc;
    if (field == std::string("d")) ++next.problem.d;
    EXPECT_TRUE(check_choice(next)) << refused->nearest_label;
  }
}

TEST(Refuse, KvHeadsAreAnsweredByTheNearestDivisorOfTheHeads) {
  Choice choice = small_choice();
  choice.problem.heads = 30;
  choice.problem.kv_heads = 12;
  const auto refused = refuse(choice, "kv_heads", small_choice());
  ASSERT_TRUE(refused && refused->nearest);
  EXPECT_EQ(refused->nearest->problem.kv_heads, 10);
}

TEST(Refuse, AMessageSpeaksOfTheFieldsOfTheScreen) {
  Choice choice = small_choice();
  choice.problem.N = 0;
  EXPECT_THAT(check_choice(choice)->message, testing::StartsWith("N is 0"));
  choice = small_choice();
  choice.tiling = {4096, 4096};
  choice.problem.N = choice.problem.N_kv = 8192;
  const std::string message = check_choice(choice)->message;
  EXPECT_THAT(message, testing::Not(testing::HasSubstr("--")));
  EXPECT_THAT(message, testing::HasSubstr("does not fit"));
  choice.sram_bytes = 1000;
  EXPECT_THAT(check_choice(choice)->message, testing::Not(testing::HasSubstr("--")));
  EXPECT_THAT(check_choice(choice)->message, testing::HasSubstr("the SRAM given has 1000"));
  for (const ScheduleVariant& variant :
       {ScheduleVariant{.fusion = Fusion::pairs}, ScheduleVariant{.checkpoint = true},
        ScheduleVariant{.skip_first_reads = true}, ScheduleVariant{.d_once = true}}) {
    choice = small_choice();
    choice.variant = variant;
    ASSERT_TRUE(check_choice(choice));
    EXPECT_THAT(check_choice(choice)->message, testing::Not(testing::HasSubstr("--")));
  }
}

TEST(Refuse, ZeroIsAnsweredByOne) {
  Choice choice = small_choice();
  choice.problem.N = choice.problem.N_kv = 0;
  choice.problem.N_kv = 64;
  const auto refused = refuse(choice, "N", small_choice());
  ASSERT_TRUE(refused);
  ASSERT_TRUE(refused->nearest);
  EXPECT_EQ(refused->nearest->problem.N, 1);
}

TEST(Refuse, TheFieldIsTheOneThatTheReasonNamesNotTheOneEditedLast) {
  Choice choice = small_choice();
  choice.problem.N = 0;
  const auto refused = refuse(choice, "seed", small_choice());
  ASSERT_TRUE(refused && refused->nearest);
  EXPECT_EQ(refused->field, "N");
  EXPECT_EQ(refused->nearest_label, "N = 1");
}

TEST(Refuse, MoreTilesThanCanBeSteppedThroughAreRefused) {
  Choice choice = small_choice();
  choice.problem.N = choice.problem.N_kv = 1 << 20;
  const auto refused = refuse(choice, "N", small_choice());
  ASSERT_TRUE(refused);
  EXPECT_THAT(refused->message, testing::HasSubstr("tiles"));
  ASSERT_TRUE(refused->nearest);
  EXPECT_GT(refused->nearest->problem.N, 1024);
  EXPECT_EQ(refused->nearest->problem.N, refused->nearest->problem.N_kv);
}

TEST(Refuse, AnUnknownGpuIsOneLine) {
  Choice choice = small_choice();
  choice.gpu = "h2000";
  const auto refused = refuse(choice, "gpu", small_choice());
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->message.find('\n'), std::string::npos);
  EXPECT_FALSE(refused->nearest);
}

}  // namespace
}  // namespace attnscope::app
