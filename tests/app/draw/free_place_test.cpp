#include "app/draw/canvas.h"

#include <gtest/gtest.h>

namespace attnscope::app::draw {
namespace {

TEST(FreePlace, IsWhereItIsWishedOrAsNearAsTheRoomAllows) {
  EXPECT_EQ(free_center(50.0f, 20.0f, {0.0f, 100.0f}, {}), 50.0f);
  EXPECT_EQ(free_center(95.0f, 20.0f, {0.0f, 100.0f}, {}), 90.0f);
  EXPECT_EQ(free_center(2.0f, 20.0f, {0.0f, 100.0f}, {}), 10.0f);
  EXPECT_FALSE(free_center(50.0f, 120.0f, {0.0f, 100.0f}, {}));
}

TEST(FreePlace, TouchesNothingThatIsTaken) {
  const Range one[] = {{40.0f, 50.0f}};
  EXPECT_EQ(free_center(45.0f, 20.0f, {0.0f, 100.0f}, one), 60.0f);  // a tie with 30: larger wins
  EXPECT_EQ(free_center(42.0f, 20.0f, {0.0f, 100.0f}, one), 30.0f);
  const Range two[] = {{40.0f, 50.0f}, {65.0f, 70.0f}};
  EXPECT_EQ(free_center(48.0f, 20.0f, {0.0f, 100.0f}, two), 30.0f);
  EXPECT_EQ(free_center(60.0f, 20.0f, {0.0f, 100.0f}, two), 80.0f);
  const Range full[] = {{10.0f, 50.0f}, {60.0f, 95.0f}};
  EXPECT_FALSE(free_center(55.0f, 20.0f, {0.0f, 100.0f}, full));
}

TEST(FreePlace, KnowsWhatACurveCrosses) {
  const Route curve({vertical_curve({10.0f, 100.0f}, {90.0f, 0.0f})});
  const Range whole = crossing(curve, {-1.0f, 101.0f});
  EXPECT_FLOAT_EQ(whole.low, 10.0f);
  EXPECT_FLOAT_EQ(whole.high, 90.0f);
  const Range middle = crossing(curve, {40.0f, 60.0f});
  EXPECT_GT(middle.low, 15.0f);
  EXPECT_LT(middle.low, 50.0f);
  EXPECT_GT(middle.high, 50.0f);
  EXPECT_LT(middle.high, 85.0f);
  EXPECT_FLOAT_EQ(crossing(curve, {200.0f, 300.0f}).low, 50.0f);
}

}  // namespace
}  // namespace attnscope::app::draw
