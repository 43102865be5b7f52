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

TEST(Refuse, ZeroIsAnsweredByOne) {
  Choice choice = small_choice();
  choice.problem.N = choice.problem.N_kv = 0;
  choice.problem.N_kv = 64;
  const auto refused = refuse(choice, "N", small_choice());
  ASSERT_TRUE(refused);
  ASSERT_TRUE(refused->nearest);
  EXPECT_EQ(refused->nearest->problem.N, 1);
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
