/// The words in place of a ratio that would mislead: for small numbers, or a kernel that spills.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/report/compare.h"
#include "app/report/comparison_report.h"
#include "tests/app/report/recorded_run.h"

namespace attnscope {
namespace {

using ::testing::HasSubstr;

TEST(SmallRun, SmallDramTrafficSaysWhatItIsInsteadOfARatio) {
  const GpuDescription gpu = load_gpu("h200").value();
  RecordingRow row = agreeing_run("flash2", gpu);
  Counters& counters = row.measurement->counters;
  counters[std::string(counter::kDramReadBytes)] += 30e3 + 100e3;
  counters[std::string(counter::kDramWriteBytes)] = 0.0;
  const Comparison tiny = compare(model_of(row, gpu), gpu, row, h200_device());
  const ComparisonLine* read = tiny.find(Level::bound, "read");
  EXPECT_FALSE(read->gap_percent);
  EXPECT_EQ(read->in_place_of_gap, "kernel code, constants");
  EXPECT_THAT(read->reason, HasSubstr("786.4 kB of operands; the other 130 kB are kernel code"));
  const ComparisonLine* written = tiny.find(Level::bound, "written");
  EXPECT_FALSE(written->gap_percent);
  EXPECT_EQ(written->reason, "output that stays in L2: 270.3 kB of 270.3 kB");
  counters[std::string(counter::kDramReadBytes)] = 1.5e6;
  EXPECT_TRUE(
      compare(model_of(row, gpu), gpu, row, h200_device()).find(Level::bound, "read")->gap_percent);
}

TEST(SmallRun, AShortTimeIsLaunchLatencyAndHasNoGap) {
  const GpuDescription gpu = load_gpu("h200").value();
  RecordingRow row = agreeing_run("flash2", gpu);
  for (const auto& [time_s, latency] :
       {std::pair{6e-6, true}, std::pair{21e-6, true}, std::pair{41e-6, false}}) {
    row.measurement->time = {time_s, time_s, time_s, 20};
    const Comparison comparison = compare(model_of(row, gpu), gpu, row, h200_device());
    const ComparisonLine* line = comparison.find(Level::bound, "time");
    EXPECT_EQ(!line->gap_percent, latency);
    EXPECT_EQ(line->reason == "launch latency; 16 of 132 SMs", latency) << line->reason;
    EXPECT_EQ(line->in_place_of_gap == "launch latency", latency);
  }

  // If the SMs are busy, 21 us is a valid time
  RecordingRow busy = row;
  busy.run.problem.batch = busy.run.asked.problem.batch = 16;
  busy.measurement->time = {21e-6, 21e-6, 21e-6, 20};
  const Comparison full = compare(model_of(busy, gpu), gpu, busy, h200_device());
  EXPECT_TRUE(full.find(Level::bound, "time")->gap_percent);

  row.measurement->time.median_s = 6e-6;
  const std::string report =
      comparison_report({}, gpu, {compare(model_of(row, gpu), gpu, row, h200_device())});
  EXPECT_THAT(report, HasSubstr("| 6 us | launch latency |"));
}

TEST(Spills, TakeThePlaceOfTheGapOfRequestedBytes) {
  const GpuDescription gpu = load_gpu("h200").value();
  RecordingRow row = agreeing_run("flash2", gpu);
  EXPECT_TRUE(compare(model_of(row, gpu), gpu, row, h200_device())
                  .find(Level::requested, "read")
                  ->gap_percent);
  row.measurement->spilled_bytes = 24;
  const Comparison spilling = compare(model_of(row, gpu), gpu, row, h200_device());
  for (const char* quantity : {"read", "written"}) {
    const ComparisonLine* line = spilling.find(Level::requested, quantity);
    EXPECT_FALSE(line->gap_percent) << quantity;
    EXPECT_EQ(line->in_place_of_gap, "not comparable: spills") << quantity;
    EXPECT_THAT(line->reason, HasSubstr("spills 24 bytes")) << quantity;
  }
  row.measurement->spilled_bytes.reset();
  const Comparison unknown = compare(model_of(row, gpu), gpu, row, h200_device());
  EXPECT_EQ(unknown.find(Level::requested, "read")->in_place_of_gap,
            "not comparable: spills unknown");
}

}  // namespace
}  // namespace attnscope
