#include "app/report/compare.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "app/report/comparison_report.h"
#include "sim/device/assets.h"
#include "tests/app/report/recorded_run.h"

namespace attnscope {
namespace {

using ::testing::HasSubstr;

class Compare : public ::testing::Test {
 protected:
  const GpuDescription gpu_ = load_gpu("h200").value();

  Comparison compared(const RecordingRow& row) const {
    return compare(model_of(row, gpu_), gpu_, row, h200_device());
  }
  /// A device with the L2 cache of this description.
  static MeasuredOn device_of(const GpuDescription& gpu) {
    MeasuredOn on = h200_device();
    on.device.l2_bytes = gpu.l2_bytes;
    return on;
  }
  static double& counter_of(RecordingRow& row, std::string_view name) {
    return row.measurement->counters[std::string(name)];
  }
};

TEST_F(Compare, AgreeingBytesHaveNoGapAndSaySo) {
  for (const std::string algorithm : {"standard", "flash1", "flash2"}) {
    const Comparison comparison = compared(agreeing_run(algorithm, gpu_));
    for (const std::string quantity : {"read", "written"}) {
      const ComparisonLine* line = comparison.find(Level::requested, quantity);
      ASSERT_NE(line, nullptr);
      EXPECT_EQ(line->gap_percent, 0.0) << algorithm << " " << quantity;
      EXPECT_THAT(line->reason, ::testing::StartsWith("agrees"));
    }
  }
}

TEST_F(Compare, WhatL2ServesStandsBesideWhatIsRequestedAndWhatMisses) {
  RecordingRow row = agreeing_run("flash2", gpu_, PassKind::forward, 64);
  SimulationReport model = model_of(row, gpu_);
  predict_kernel_dram(model, gpu_);
  const double missed = static_cast<double>(model.dram->total_missed_bytes());
  const double requested = static_cast<double>(model.requested.read_bytes);
  counter_of(row, counter::kL2ReadSectors) *= 0.75;
  counter_of(row, counter::kL2HitSectors) = counter_of(row, counter::kL2ReadSectors) +
                                            counter_of(row, counter::kL2WriteSectors) -
                                            1.02 * missed / static_cast<double>(kSectorBytes);
  const Comparison comparison = compare(model, gpu_, row, h200_device());
  const ComparisonLine* read = comparison.find(Level::l2, "read");
  ASSERT_NE(read, nullptr);
  EXPECT_EQ(read->modelled, requested);
  EXPECT_NEAR(*read->gap_percent, -25.0, 1e-9);
  EXPECT_THAT(read->reason, HasSubstr("75 % of the requested bytes: reads of one line"));
  EXPECT_EQ(comparison.find(Level::l2, "written")->gap_percent, 0.0);
  const ComparisonLine* misses = comparison.find(Level::l2, kMissedQuantity);
  EXPECT_EQ(misses->modelled, missed);
  EXPECT_GE(missed, static_cast<double>(model.dram->total.read_bytes));
  EXPECT_NEAR(*misses->gap_percent, 2.0, 1e-6);
  EXPECT_EQ(misses->reason, "agrees");

  // A counter that the chip lacks is reported as missing
  row.measurement->counters.erase(std::string(counter::kL2HitSectors));
  const Comparison without = compare(model, gpu_, row, h200_device());
  EXPECT_FALSE(without.find(Level::l2, kMissedQuantity)->recorded);
  EXPECT_THAT(without.find(Level::l2, kMissedQuantity)->unavailable, HasSubstr("lacks"));
  EXPECT_TRUE(without.find(Level::l2, "read")->recorded);
}

TEST_F(Compare, EveryLineHasAReasonOrSaysWhyItHasNone) {
  for (const std::string algorithm : {"standard", "flash1", "flash2"}) {
    for (const ComparisonLine& line : compared(agreeing_run(algorithm, gpu_)).lines) {
      EXPECT_TRUE(line.recorded.has_value());
      EXPECT_FALSE(line.reason.empty()) << algorithm << " " << line.quantity;
      EXPECT_EQ(line.reason.find('\n'), std::string::npos);
    }
  }
}

TEST_F(Compare, ALaunchsDramIsComparedWithTheLaunchsOwnRequests) {
  const RecordingRow row = agreeing_run("standard", gpu_, PassKind::forward, 16);
  const SimulationReport model = model_of(row, gpu_);
  const double times = static_cast<double>(model.launches[0].requested.read_bytes) /
                       static_cast<double>(model.launches[0].compulsory.read_bytes);
  for (const ComparisonLine& line : compared(row).lines) {
    if (line.launch != "scores" || line.level != Level::bound || line.quantity != "read") continue;
    EXPECT_THAT(line.reason, HasSubstr(fmt::format("requested bytes are {:.3g} times", times)));
    return;
  }
  FAIL() << "no line of the scores launch";
}

TEST_F(Compare, DramBeyondTheCompulsoryBytesSaysWhatL2Served) {
  RecordingRow row = agreeing_run("flash1", gpu_);
  GpuDescription small = gpu_;
  small.l2_bytes = 100'000;
  counter_of(row, counter::kDramReadBytes) =
      0.5 * static_cast<double>(model_of(row, small).requested.read_bytes);
  const Comparison comparison = compare(model_of(row, small), small, row, device_of(small));
  EXPECT_THAT(comparison.find(Level::bound, "read")->reason,
              HasSubstr("outgrew L2 (97.66 KiB), which served 50 %"));
}

TEST_F(Compare, DramAtTheCompulsoryBytesCreditsL2WithTheReReads) {
  const Comparison comparison = compared(agreeing_run("flash2", gpu_, PassKind::forward, 16));
  EXPECT_THAT(comparison.find(Level::bound, "read")->reason, HasSubstr("served the re-reads"));
}

TEST_F(Compare, MissingDramWritesAreDirtyLinesInL2) {
  RecordingRow row = agreeing_run("flash2", gpu_, PassKind::forward, 64);
  counter_of(row, counter::kDramWriteBytes) *= 0.5;
  const Comparison comparison = compared(row);
  EXPECT_NEAR(*comparison.find(Level::bound, "written")->gap_percent, -50.0, 1e-9);
  EXPECT_THAT(comparison.find(Level::bound, "written")->reason,
              HasSubstr("dirty lines were still in L2"));
}

TEST_F(Compare, ExtraWritesAreNotCalledAgreement) {
  RecordingRow row = agreeing_run("flash2", gpu_);
  counter_of(row, counter::kRequestedWriteBytes) *= 1.02;
  const Comparison comparison = compared(row);
  const ComparisonLine* line = comparison.find(Level::requested, "written");
  EXPECT_NEAR(*line->gap_percent, 2.0, 1e-9);
  EXPECT_THAT(line->reason, HasSubstr("register spills"));
}

/// Bulk copies are a reason for more bytes only if a box ends beyond its tensor.
TEST_F(Compare, ProgramsOfHopperRequestWholeBoxesAndTheNumbersOfTheirTiles) {
  // The lines of a run of one head with tiles of 128 x 128, read and written
  const auto lines = [&](Index N, Index d, const char* instructions, const char* schedule) {
    RecordingRow row = agreeing_run("flash2", gpu_);
    AttentionProblem& problem = row.run.problem;
    problem.batch = problem.heads = problem.kv_heads = 1;
    problem.N = problem.N_kv = N;
    problem.d = d;
    row.run.tiling = {128, 128};
    row.run.asked.switches = {{"schedule", schedule}};
    row.measurement->instructions = instructions;
    const Comparison comparison = compared(row);
    return std::pair(*comparison.find(Level::requested, "read"),
                     *comparison.find(Level::requested, "written"));
  };
  const auto beyond = [&](Index N, Index d, const char* instructions) {
    return lines(N, d, instructions, "persistent").first.beyond_tiles;
  };
  EXPECT_EQ(beyond(1024, 64, "wgmma"), 0);
  EXPECT_EQ(beyond(968, 64, "mma.sync"), 0);
  // 32 more columns of 2 bytes: in every row of Q once, of K and V for each of 8 row tiles
  EXPECT_EQ(beyond(1024, 96, "wgmma"), 32 * 2 * (1024 + 8 * 2 * 1024));
  // 968 = 7 x 128 + 72: Q has 2 boxes of 64 rows there, K and V one of 128 for each row tile
  EXPECT_EQ(beyond(968, 64, "wgmma"), 64 * 2 * (56 + 8 * 2 * 56));

  const auto [read, written] = lines(1024, 96, "wgmma", "persistent");
  EXPECT_EQ(*read.modelled, 128 * 2 * (1024 + 8 * 2 * 1024));
  EXPECT_EQ(*written.modelled, 96 * 2 * 1024 + 4 * 1024 + 8 * 32);  // O, LSE, numbers of tiles
  EXPECT_EQ(lines(1024, 96, "wgmma", "blocks").second.beyond_tiles, 0);
}

TEST_F(Compare, WhatBoxesHaveBeyondTheTensorsIsNamed) {
  RecordingRow row = agreeing_run("flash2", gpu_);
  row.run.problem.d = 96;
  row.measurement->instructions = "wgmma";
  counter_of(row, counter::kRequestedReadBytes) =
      *compared(row).find(Level::requested, "read")->modelled;
  const Comparison comparison = compared(row);
  EXPECT_EQ(comparison.find(Level::requested, "read")->gap_percent, 0.0);
  EXPECT_THAT(comparison.find(Level::requested, "read")->reason,
              testing::AllOf(testing::StartsWith("agrees, including"), HasSubstr("whole boxes")));
  EXPECT_GT(*comparison.find(Level::paper, "read")->gap_percent, 30.0);
  EXPECT_THAT(comparison.find(Level::paper, "read")->reason, HasSubstr("whole boxes"));
}

TEST_F(Compare, TimeIsComparedWithItsLowerBound) {
  const Comparison comparison = compared(agreeing_run("flash2", gpu_, PassKind::forward, 256));
  const ComparisonLine* line = comparison.find(Level::bound, "time");
  EXPECT_NEAR(*line->gap_percent, 100.0, 1e-9);
  EXPECT_THAT(line->reason,
              HasSubstr("a lower bound, set by the tensor cores: 50 % of the recorded time"));
}

TEST_F(Compare, ALastLaunchOfFewBlocksIsNotWhatLeavesSmsIdle) {
  const auto shipped = read_recording(find_asset("recordings", "h200").value());
  ASSERT_TRUE(shipped.ok()) << shipped.error().message;
  int decoded = 0;
  for (const RecordingRow& row : shipped.value().rows) {
    if (row.run.asked.kernel != "split_kv" || !row.measurement) continue;
    ++decoded;  // eight heads: eight blocks combine the results of 120
    EXPECT_THAT(compared(row).find(Level::bound, "time")->reason,
                HasSubstr("only 120 thread blocks for 132 SMs"));
  }
  EXPECT_EQ(decoded, 2);
}

TEST_F(Compare, TimeNamesIdleSmsAndTheBytesThatDidGoThroughDram) {
  // flash1 has one thread block per head: two of them for 132 SMs
  RecordingRow row = agreeing_run("flash1", gpu_);
  row.measurement->time = {1e-3, 1e-3, 1e-3, 20};
  counter_of(row, counter::kDramReadBytes) = 1e9;
  const Comparison comparison = compared(row);
  const ComparisonLine* line = comparison.find(Level::bound, "time");
  EXPECT_THAT(line->reason, HasSubstr("only 2 thread blocks for 132 SMs"));
  EXPECT_THAT(line->reason, HasSubstr("bytes counted at HBM takes at least 208"));
  GpuDescription graphics = gpu_;
  graphics.dram_type = "GDDR6";
  ComparisonLine elsewhere = *line;
  add_gap(elsewhere, comparison.model, graphics, row);
  EXPECT_THAT(elsewhere.reason, HasSubstr("bytes counted at GDDR6 takes at least 208"));
  EXPECT_THAT(line->reason, HasSubstr("exponentials alone take"));
}

TEST_F(Compare, ReadsOfASmallRunAreNotCalledPanelsOrCacheMisses) {
  RecordingRow row = recorded_run("standard");
  row.run.problem.N = row.run.problem.N_kv = 64;
  row.run.problem.d = 16;
  row.run.tiling = {128, 256};
  const SimulationReport model = model_of(row, gpu_);
  row.measurement = Measurement{};
  row.measurement->time = {1e-5, 1e-5, 1e-5, 20};
  row.measurement->counters = counters_of(model.requested, model.compulsory, 3.0);
  counter_of(row, counter::kDramReadBytes) *= 4.0;
  const Comparison comparison = compared(row);
  EXPECT_THAT(comparison.find(Level::requested, "read")->reason, HasSubstr("fit in one tile"));
  EXPECT_THAT(comparison.find(Level::bound, "read")->reason, HasSubstr("kernel code, constants"));
  EXPECT_THAT(comparison.find(Level::bound, "time")->reason, HasSubstr("latency"));
}

TEST_F(Compare, DirtyLinesOfEarlierWorkAreNotCalledStoredAgain) {
  RecordingRow row = agreeing_run("flash2", gpu_);
  counter_of(row, counter::kDramWriteBytes) += 18e6;
  const Comparison comparison = compared(row);
  EXPECT_THAT(comparison.find(Level::bound, "written")->reason,
              HasSubstr("18 MB more than the pass stores"));
  RecordingRow again = agreeing_run("flash1", gpu_);
  counter_of(again, counter::kDramWriteBytes) =
      static_cast<double>(model_of(again, gpu_).requested.write_bytes);
  const Comparison stored_again = compared(again);
  EXPECT_THAT(stored_again.find(Level::bound, "written")->reason,
              HasSubstr("left L2 again: 100 % of the requested bytes"));
}

TEST_F(Compare, WhatL2DidNotHoldBetweenLaunchesIsNotCalledStoredAgainOrWholeLines) {
  RecordingRow row = agreeing_run("standard", gpu_);
  GpuDescription small = gpu_;
  small.l2_bytes = 6'000'000;  // holds S or P, 2 N^2 bytes per head, but not both
  counter_of(row, counter::kDramReadBytes) += 2e6;
  counter_of(row, counter::kDramWriteBytes) += 3e6;
  row.measurement->launches[2].counters[std::string(counter::kDramReadBytes)] += 1e6;
  const auto reason = [&row](const GpuDescription& gpu, std::string_view launch,
                             std::string_view quantity) {
    for (const ComparisonLine& line : compare(model_of(row, gpu), gpu, row, device_of(gpu)).lines) {
      if (line.level == Level::bound && line.launch == launch && line.quantity == quantity) {
        return line.reason;
      }
    }
    return std::string("no such line");
  };
  EXPECT_THAT(reason(small, "", "read"), HasSubstr("2 MB of the 8.389 MB assumed to stay"));
  EXPECT_THAT(reason(small, "", "written"), HasSubstr("3 MB of the 8.3"));
  EXPECT_THAT(reason(small, "output", "read"), HasSubstr("1 MB of the 4.194 MB assumed"));
  EXPECT_THAT(reason(gpu_, "", "read"), HasSubstr("whole lines"));  // this L2 holds both
}

TEST_F(Compare, MissingCountersAreUnavailableWithTheRecordedReason) {
  RecordingRow row = agreeing_run("flash2", gpu_);
  row.measurement->counters.clear();
  row.measurement->unavailable_counters["*"] = "no permission";
  const Comparison comparison = compared(row);
  const ComparisonLine* line = comparison.find(Level::requested, "read");
  EXPECT_FALSE(line->recorded.has_value());
  EXPECT_FALSE(line->gap_percent.has_value());
  EXPECT_EQ(line->unavailable, "no permission");
}

TEST_F(Compare, ARunThatFailedHasNoLinesButItsReason) {
  RecordingRow row = recorded_run("standard");
  row.error = failed("out of memory: S takes 68 GB");
  const Comparison comparison = compared(row);
  EXPECT_TRUE(comparison.lines.empty());
  EXPECT_EQ(comparison.unavailable, "out of memory: S takes 68 GB");
}

TEST_F(Compare, LaunchesAreComparedSeparatelyIfThereAreSeveral) {
  const Comparison standard = compared(agreeing_run("standard", gpu_));
  int launch_lines = 0;
  for (const ComparisonLine& line : standard.lines) launch_lines += line.launch.empty() ? 0 : 1;
  EXPECT_EQ(launch_lines,
            3 * 7);  // three launches: read and written at three levels, and missed
}

TEST_F(Compare, AtomicAddsHaveASeparateLine) {
  RecordingRow row = agreeing_run("flash2", gpu_, PassKind::backward);
  const Comparison comparison = compared(row);
  const ComparisonLine* added = comparison.find(Level::requested, kAddedQuantity);
  ASSERT_NE(added, nullptr);
  // dQ [H, N, d] in fp32, once for each of the 16 column tiles
  EXPECT_EQ(added->modelled, 2.0 * 1024 * 64 * 4 * 16);
  EXPECT_EQ(added->gap_percent, 0.0);
  EXPECT_EQ(added->reason, "agrees");

  counter_of(row, counter::kL2ReductionSectors) *= 2;
  EXPECT_THAT(compared(row).find(Level::requested, kAddedQuantity)->reason,
              HasSubstr("fill part of a sector"));
  EXPECT_EQ(compared(agreeing_run("flash2", gpu_)).find(Level::requested, kAddedQuantity), nullptr);
}

TEST_F(Compare, TheLseOfASingleQueryTakesASector) {
  const auto recording = read_recording(find_asset("recordings", "h200").value());
  ASSERT_TRUE(recording);
  int runs = 0;
  for (const RecordingRow& row : recording.value().rows) {
    if (row.run.asked.kernel != "split_kv") continue;
    const auto comparison = model_and_compare(row, h200_device(), gpu_);
    ASSERT_TRUE(comparison);
    const ComparisonLine* line = comparison.value().find(Level::requested, "written");
    ASSERT_NE(line, nullptr);
    EXPECT_GT(*line->gap_percent, 1.0);
    EXPECT_THAT(line->reason, HasSubstr("each 4-byte LSE store occupies a 32-byte sector"));
    ++runs;
  }
  EXPECT_EQ(runs, 2);
}

TEST_F(Compare, ARecordingsDeviceFindsItsDescription) {
  const auto device = [](const std::string& capability, Index sm_count, double memory_gb) {
    DeviceInfo info;
    info.compute_capability = capability;
    info.sm_count = sm_count;
    info.memory_bytes = static_cast<Index>(memory_gb * 1e9);
    return find_gpu_of(info);
  };
  EXPECT_EQ(device("9.0", 132, 150.0), "h200");
  EXPECT_EQ(device("9.0", 132, 85.0), "h100-sxm");
  EXPECT_EQ(device("8.0", 108, 42.4), "a100-40gb");
  EXPECT_EQ(device("8.0", 108, 85.0), "a100-80gb");
  EXPECT_EQ(device("12.0", 170, 34.0), std::nullopt);
  DeviceInfo other = {.name = "NVIDIA H800", .compute_capability = "9.0", .sm_count = 132};
  other.memory_bytes = Index{85'000'000'000};
  EXPECT_EQ(find_gpu_of(other), std::nullopt) << "the sizes of an H100, but another GPU";
  other.name = "NVIDIA H100 80GB HBM3";
  EXPECT_EQ(find_gpu_of(other), "h100-sxm");
}

TEST_F(Compare, TheReportHoldsProvenanceRunsAndSpeedups) {
  Recording recording;
  recording.device.name = "NVIDIA H200";
  recording.device.driver = "580.1";
  recording.date = "2026-01-31T12:34:56Z";
  RecordingRow lost = recorded_run("standard");
  lost.run.problem.N = 65536;
  lost.error = failed("out of memory");
  recording.rows = {agreeing_run("standard", gpu_), agreeing_run("flash2", gpu_), lost};
  std::vector<Comparison> comparisons;
  for (const RecordingRow& row : recording.rows) comparisons.push_back(compared(row));
  const std::string report = comparison_report(recording, gpu_, comparisons);
  for (const char* part : {"NVIDIA H200", "580.1", "2026-01-31", "## Against standard attention",
                           "panel re-reads", "unavailable: out of memory"}) {
    EXPECT_THAT(report, HasSubstr(part));
  }
}

}  // namespace
}  // namespace attnscope
