#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <stdexcept>
#include <thread>

#include "kernels/measure/check/stored_values.h"
#include "kernels/measure/counters/counter_totals.h"
#include "kernels/measure/gpu_thread.h"
#include "kernels/measure/timing/statistics.h"
#include "reference/check.h"

namespace attnscope::kernels {
namespace {

TEST(StatisticsOf, TakesTheMiddleOfOddAndEvenCounts) {
  EXPECT_EQ(statistics_of({3.0, 1.0, 2.0}), (TimeStatistics{1.0, 2.0, 3.0, 3}));
  EXPECT_EQ(statistics_of({4.0, 1.0, 2.0, 3.0}), (TimeStatistics{1.0, 2.5, 4.0, 4}));
  EXPECT_EQ(statistics_of({5.0}), (TimeStatistics{5.0, 5.0, 5.0, 1}));
  EXPECT_THROW(statistics_of({}), CheckFailure);
}

TEST(MeanSmClock, IsTheMedianOverTheSmsWithBothReadings) {
  // 1.7, 1.9 and 1.5 GHz; SM 9 was read only before, SM 7 only after
  const std::vector<SmClockReading> before = {
      {1'000, 500, 3}, {0, 500, 9}, {50, 400, 0}, {7'000'000'000, 500, 131}};
  const std::vector<SmClockReading> after = {{50 + 190'000, 100'400, 0},
                                             {7'000'150'000, 100'500, 131},
                                             {1, 1, 7},
                                             {1'000 + 170'000, 100'500, 3}};
  EXPECT_DOUBLE_EQ(mean_sm_clock_hz(before, after).value(), 1.7e9);
}

TEST(MeanSmClock, LeavesOutReadingsThatDoNotAscend) {
  const std::vector<SmClockReading> before = {{1'000, 500, 0}, {1'000, 500, 1}, {1'000, 500, 2}};
  const std::vector<SmClockReading> reset = {{900, 1'500, 0}, {3'000, 500, 1}};
  EXPECT_FALSE(mean_sm_clock_hz(before, reset));
  EXPECT_FALSE(mean_sm_clock_hz(before, {}));
  const std::vector<SmClockReading> one = {{900, 1'500, 0}, {3'000, 1'500, 2}};
  EXPECT_DOUBLE_EQ(mean_sm_clock_hz(before, one).value(), 2e9);
}

TEST(TotalOf, AddsCountedLaunchesAndWeightsSharesByTime) {
  const std::string bytes(counter::kRequestedReadBytes);
  const std::string time(counter::kTimeNs);
  const std::string share(counter::kTensorActivePercent);
  const std::vector<LaunchCounters> launches = {
      {"initialise", false, {{bytes, 1000.0}, {time, 1000.0}, {share, 100.0}}},
      {"scores", true, {{bytes, 10.0}, {time, 30.0}, {share, 60.0}}},
      {"softmax", true, {{bytes, 7.0}, {time, 10.0}, {share, 0.0}}},
  };
  const Counters total = total_of(launches);
  EXPECT_EQ(total.at(bytes), 17.0);
  EXPECT_EQ(total.at(time), 40.0);
  EXPECT_EQ(total.at(share), 45.0);
  EXPECT_TRUE(total_of({}).empty());
}

TEST(IsCounted, LeavesOutInitialisationAndLse) {
  EXPECT_FALSE(is_counted("initialise"));
  EXPECT_FALSE(is_counted("lse"));
  EXPECT_TRUE(is_counted("forward"));
  EXPECT_TRUE(is_counted("convert"));
}

TEST(StoredValues, RoundToTheTypeAndComeBack) {
  const std::vector<double> values = {1.0,     -0.3, 1e-9,
                                      65504.0, 0.0,  -std::numeric_limits<double>::infinity()};
  for (DType dtype : {DType::fp32, DType::fp16, DType::bf16}) {
    const auto bytes = stored_bytes(dtype, values);
    EXPECT_EQ(bytes.size(), values.size() * static_cast<std::size_t>(size_bytes(dtype)));
    const auto once = values_of(dtype, bytes);
    EXPECT_EQ(values_of(dtype, stored_bytes(dtype, once)), once) << to_string(dtype);
    EXPECT_EQ(once[0], 1.0);
    EXPECT_NEAR(once[1], -0.3, 0.3 / 256);
    EXPECT_EQ(once[5], values[5]);
  }
}

TEST(GpuThread, RunsWorkOfManyCallersOneByOneOnOneThread) {
  GpuThread gpu;
  std::thread::id worker;
  gpu.run([&] { worker = std::this_thread::get_id(); });
  EXPECT_NE(worker, std::this_thread::get_id());

  int sum = 0;  // needs no lock: all work runs on one thread
  std::atomic<bool> elsewhere = false;
  std::vector<std::thread> callers;
  callers.reserve(8);
  for (int c = 0; c < 8; ++c) {
    callers.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        gpu.run([&] {
          ++sum;
          if (std::this_thread::get_id() != worker) elsewhere = true;
        });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(sum, 4000);
  EXPECT_FALSE(elsewhere);
}

TEST(GpuThread, HandsAnExceptionToItsCallerAndContinues) {
  GpuThread gpu;
  EXPECT_THROW(gpu.run([] { throw std::runtime_error("broken"); }), std::runtime_error);
  bool ran = false;
  gpu.run([&] { ran = true; });
  EXPECT_TRUE(ran);
}

}  // namespace
}  // namespace attnscope::kernels
