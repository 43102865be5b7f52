#include "app/frame_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attnscope::app {
namespace {

TEST(FrameTimes, TheMedianIsTheMiddleOne) {
  FrameTimes times;
  for (const double seconds : {0.004, 0.100, 0.002, 0.003, 0.005}) times.add(seconds);
  EXPECT_DOUBLE_EQ(times.quantile_s(0.5), 0.004);
  EXPECT_DOUBLE_EQ(times.quantile_s(1.0), 0.100);
  EXPECT_THAT(times.summary(), testing::HasSubstr("median 4.00 ms (250 frames/s)"));
}

TEST(FrameTimes, NoFramesIsSaid) {
  EXPECT_EQ(FrameTimes{}.summary(), "no frames");
}

}  // namespace
}  // namespace attnscope::app
