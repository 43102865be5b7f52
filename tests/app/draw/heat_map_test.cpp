#include "app/draw/heat_map.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "reference/rounding.h"

namespace attnscope::app::draw {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST(HeatMap, AveragesValuesThatShareACell) {
  const ValueTile values{2, 4, {1, 3, 5, 7, 1, 3, 5, 7}};
  const ValueTile cells = aggregated(values, 1, 2);
  ASSERT_EQ(cells.values.size(), 2U);
  EXPECT_DOUBLE_EQ(cells.values[0], 2.0);
  EXPECT_DOUBLE_EQ(cells.values[1], 6.0);
}

TEST(HeatMap, LeavesHiddenAndInvalidValuesOutOfTheMean) {
  const ValueTile values{1, 6, {-kInfinity, 4, -kInfinity, kNaN, kNaN, kNaN}};
  const ValueTile cells = aggregated(values, 1, 3);
  EXPECT_DOUBLE_EQ(cells.values[0], 4.0);
  EXPECT_EQ(cells.values[1], -kInfinity);
  EXPECT_TRUE(std::isnan(cells.values[2]));
}

TEST(HeatMap, KeepsASmallTileAsItIs) {
  const ValueTile values{1, 2, {1, 2}};
  EXPECT_EQ(aggregated(values, 16, 16).values, values.values);
}

TEST(HeatMap, RangeHoldsTheFiniteValues) {
  const ValueRange range = range_of({1, 4, {-kInfinity, -2, 6, kNaN}});
  EXPECT_DOUBLE_EQ(range.low, -2.0);
  EXPECT_DOUBLE_EQ(range.high, 6.0);
  EXPECT_FLOAT_EQ(range.position(2.0), 0.5f);
  EXPECT_FLOAT_EQ(range.position(100.0), 1.0f);
  EXPECT_DOUBLE_EQ(range_of({1, 1, {kNaN}}).high, 1.0);
}

}  // namespace
}  // namespace attnscope::app::draw
