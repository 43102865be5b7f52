#include "tests/bench/frame_times.h"

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

TEST(FrameTimes, TheSlowestFrameIsPrinted) {
  FrameTimes times;
  for (int frame = 1; frame <= 200; ++frame) times.add(0.0001 * frame);
  EXPECT_EQ(times.slowest_summary(),
            "median 10.10 ms, 99 % within 19.80 ms, slowest 20.00 ms, 200 frames");
}

TEST(FrameTimes, NoFramesIsReported) {
  EXPECT_EQ(FrameTimes{}.slowest_summary(), "no frames");
  EXPECT_EQ(FrameTimes{}.summary(), "no frames");
}

}  // namespace
}  // namespace attnscope::app
