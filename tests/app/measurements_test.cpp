#include "app/measurements.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attnscope::app {
namespace {

MeasuredRun run_of(const std::string& algorithm, Tiling tiling, NumberKind kind, double time_s) {
  MeasuredRun run;
  run.row.algorithm = algorithm;
  run.row.tiling = tiling;
  run.row.measurement = Measurement{};
  run.row.measurement->time.median_s = time_s;
  run.provenance.kind = kind;
  run.provenance.gpu = "NVIDIA H200";
  return run;
}

TEST(Measurements, AMeasuredRunWinsOverARecordedOne) {
  Measurements measurements;
  measurements.recorded = {run_of("flash2", {64, 64}, NumberKind::recorded, 1.0)};
  const AttentionProblem problem;
  ASSERT_NE(measurements.find(problem, "flash2", "forward", {64, 64}), nullptr);
  EXPECT_EQ(measurements.find(problem, "flash2", "forward", {64, 64})->time_s(), 1.0);
  measurements.measured = {run_of("flash2", {64, 64}, NumberKind::measured, 2.0),
                           run_of("flash2", {64, 64}, NumberKind::measured, 3.0)};
  EXPECT_EQ(measurements.find(problem, "flash2", "forward", {64, 64})->time_s(), 3.0);
}

TEST(Measurements, ADeterministicPassIsNotShownForThePlainOne) {
  Measurements measurements;
  measurements.recorded = {run_of("flash2", {64, 64}, NumberKind::recorded, 1.0)};
  measurements.measured = {run_of("flash2", {64, 64}, NumberKind::measured, 2.0)};
  measurements.measured[0].row.deterministic = true;
  EXPECT_EQ(measurements.find({}, "flash2", "forward", {64, 64})->time_s(), 1.0);
}

TEST(Measurements, TheSameTilingIsPreferredAndAnotherProblemIsNeverTaken) {
  Measurements measurements;
  measurements.recorded = {run_of("flash2", {32, 32}, NumberKind::recorded, 1.0),
                           run_of("flash2", {64, 64}, NumberKind::recorded, 2.0),
                           run_of("flash2", {128, 64}, NumberKind::recorded, 3.0)};
  AttentionProblem problem;
  EXPECT_EQ(measurements.find(problem, "flash2", "forward", {64, 64})->time_s(), 2.0);
  EXPECT_EQ(measurements.find(problem, "flash1", "forward", {64, 64}), nullptr);
  EXPECT_EQ(measurements.find(problem, "flash2", "forward", {64, 64}, Carry::fp32), nullptr);
  problem.N = 2048;
  EXPECT_EQ(measurements.find(problem, "flash2", "forward", {64, 64}), nullptr);
}

TEST(Measurements, AMissingNumberHasAReason) {
  MeasuredRun out_of_memory;
  out_of_memory.row.error = failed("out of memory: 34 GB of scores");
  EXPECT_FALSE(out_of_memory.time_s());
  EXPECT_FALSE(out_of_memory.requested_read_bytes());
  EXPECT_EQ(out_of_memory.why_unavailable(), "out of memory: 34 GB of scores");

  MeasuredRun no_permission = run_of("flash2", {64, 64}, NumberKind::measured, 1.0);
  no_permission.row.measurement->unavailable_counters["*"] = "no permission";
  EXPECT_EQ(no_permission.why_unavailable("dram__bytes_read.sum"), "no permission");
}

TEST(Measurements, ProvenanceNamesKindGpuDateAndDriver) {
  const RunProvenance provenance{NumberKind::recorded,   "NVIDIA H200",
                                 "2026-01-31T00:00:00Z", "580.1",
                                 "0123456789ab",         CacheState::cold};
  const std::string text = provenance.describe();
  for (const char* part : {"recorded on NVIDIA H200", "2026-01-31", "580.1", "01234567"}) {
    EXPECT_THAT(text, testing::HasSubstr(part));
  }
}

TEST(Measurements, ATraceTellsTheTimeOfItsProblemAndWhyThereAreNoCounters) {
  std::vector<std::string> problems;
  Measurements measurements;
  measurements.traced = load_shipped_traces(problems);
  EXPECT_THAT(problems, testing::IsEmpty());
  ASSERT_FALSE(measurements.traced.empty());
  const RecordingRow& row = measurements.traced.front().row;
  const MeasuredRun* found =
      measurements.find_traced(row.problem, row.algorithm, row.pass, *row.tiling);
  ASSERT_NE(found, nullptr);
  EXPECT_GT(found->time_s().value_or(0.0), 0.0);
  EXPECT_FALSE(found->requested_read_bytes());
  EXPECT_THAT(found->why_unavailable(counter::kDramReadBytes), testing::HasSubstr("no counters"));
  EXPECT_THAT(found->provenance.describe(), testing::HasSubstr("warm L2"));

  // Neither the charts' points nor another tiling's
  EXPECT_EQ(measurements.find(row.problem, row.algorithm, row.pass, *row.tiling), nullptr);
  EXPECT_EQ(measurements.find_traced(row.problem, row.algorithm, row.pass, {8, 8}), nullptr);
}

}  // namespace
}  // namespace attnscope::app
