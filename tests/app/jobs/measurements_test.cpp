#include "app/jobs/measurements.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/app/report/recorded_run.h"

namespace attnscope::app {
namespace {

MeasuredRun run_of(const std::string& algorithm, Tiling tiling, NumberKind kind, double time_s) {
  MeasuredRun run;
  run.row.run.asked.algorithm = algorithm;
  run.row.run.tiling = tiling;
  run.row.measurement = Measurement{};
  run.row.measurement->time.median_s = time_s;
  run.provenance.kind = kind;
  run.provenance.on = h200_device();
  return run;
}

GpuDescription h200() {
  return load_gpu("h200").value();
}

/// A modelled run of the default problem.
SimulationReport model_of(const std::string& algorithm = "flash2", Tiling tiling = {64, 64}) {
  SimulationReport model;
  model.run.asked.algorithm = algorithm;
  model.run.tiling = tiling;
  return model;
}

TEST(Measurements, AMeasuredRunWinsOverARecordedOne) {
  Measurements measurements;
  measurements.recorded = {run_of("flash2", {64, 64}, NumberKind::recorded, 1.0)};
  ASSERT_NE(measurements.find(model_of(), h200()), nullptr);
  EXPECT_EQ(measurements.find(model_of(), h200())->time_s(), 1.0);
  measurements.measured = {run_of("flash2", {64, 64}, NumberKind::measured, 2.0),
                           run_of("flash2", {64, 64}, NumberKind::measured, 3.0)};
  EXPECT_EQ(measurements.find(model_of(), h200())->time_s(), 3.0);
}

TEST(Measurements, WhatTheUserMeasuredIsShownAloneBesideAModelOfAnotherGpu) {
  Measurements measurements;
  measurements.recorded = {run_of("flash2", {64, 64}, NumberKind::recorded, 1.0)};
  measurements.measured = {run_of("flash2", {64, 64}, NumberKind::measured, 2.0)};
  measurements.measured[0].provenance.on.device.sm_count = 40;
  const MeasuredRun* alone = measurements.find(model_of(), h200());
  ASSERT_NE(alone, nullptr);
  EXPECT_EQ(alone->time_s(), 2.0);
  EXPECT_EQ(difference(model_of(), h200(), alone->row, alone->provenance.on).in, DifferenceIn::gpu);
}

TEST(Measurements, WhatCanBeComparedIsFoundBesideWhatTheUserMeasuredElsewhere) {
  Measurements measurements;
  measurements.recorded = {run_of("flash2", {64, 64}, NumberKind::recorded, 1.0),
                           run_of("flash2", {32, 32}, NumberKind::recorded, 2.0)};
  measurements.measured = {run_of("flash2", {64, 64}, NumberKind::measured, 3.0),
                           run_of("flash2", {128, 64}, NumberKind::measured, 4.0)};
  measurements.measured[0].provenance.on.device.sm_count = 40;
  ASSERT_NE(measurements.find_comparable(model_of(), h200()), nullptr);
  EXPECT_EQ(measurements.find_comparable(model_of(), h200())->time_s(), 1.0);
  EXPECT_EQ(measurements.find_comparable(model_of("flash1"), h200()), nullptr);

  measurements.measured = {run_of("flash2", {64, 64}, NumberKind::measured, 5.0)};
  EXPECT_EQ(measurements.find_comparable(model_of(), h200())->time_s(), 5.0);
}

TEST(Measurements, ARunInOtherTilesOrByAnotherProgramIsFoundApart) {
  Measurements measurements;
  measurements.recorded = {run_of("flash2", {32, 32}, NumberKind::recorded, 1.0)};
  ASSERT_NE(measurements.find_similar(model_of(), h200()), nullptr);
  EXPECT_EQ(measurements.find_similar(model_of(), h200())->time_s(), 1.0);
  EXPECT_EQ(measurements.find_comparable(model_of(), h200()), nullptr);

  // A run with the same tiles by another program is preferred; the run itself does not count
  measurements.recorded.push_back(run_of("flash2", {64, 64}, NumberKind::recorded, 2.0));
  measurements.recorded[1].row.run.asked.switches = {{"instructions", "mma"}};
  EXPECT_EQ(measurements.find_similar(model_of(), h200())->time_s(), 2.0);
  measurements.recorded = {run_of("flash2", {64, 64}, NumberKind::recorded, 3.0)};
  EXPECT_EQ(measurements.find_similar(model_of(), h200()), nullptr);

  // A run with another GPU, cache state or other choice is not similar
  measurements.recorded = {run_of("flash2", {32, 32}, NumberKind::recorded, 4.0),
                           run_of("flash2", {32, 32}, NumberKind::recorded, 5.0),
                           run_of("flash2", {32, 32}, NumberKind::recorded, 6.0)};
  measurements.recorded[0].provenance.on.device.sm_count = 40;
  measurements.recorded[1].provenance.on.cache = CacheState::warm;
  measurements.recorded[2].row.run.asked.deterministic = true;
  EXPECT_EQ(measurements.find_similar(model_of(), h200()), nullptr);
}

TEST(Measurements, AFailedRunHidesNoNumbers) {
  Measurements measurements;
  measurements.recorded = {run_of("flash2", {64, 64}, NumberKind::recorded, 1.0)};
  measurements.measured = {run_of("flash2", {64, 64}, NumberKind::measured, 2.0)};
  measurements.measured[0].row.measurement.reset();
  measurements.measured[0].row.error = failed("out of memory");
  EXPECT_EQ(measurements.find(model_of(), h200())->time_s(), 1.0);
  EXPECT_EQ(measurements.find_comparable(model_of(), h200())->time_s(), 1.0);

  measurements.recorded.clear();
  ASSERT_NE(measurements.find(model_of(), h200()), nullptr);
  EXPECT_TRUE(measurements.find(model_of(), h200())->row.error.has_value());
}

TEST(Measurements, ARecordedRunOfTheModelledGpuWinsOverOneOfAnother) {
  Measurements measurements;
  measurements.recorded = {run_of("flash2", {64, 64}, NumberKind::recorded, 1.0),
                           run_of("flash2", {64, 64}, NumberKind::recorded, 2.0)};
  measurements.recorded[1].provenance.on.device.sm_count = 40;
  EXPECT_EQ(measurements.find(model_of(), h200())->time_s(), 1.0);
}

TEST(Measurements, ADeterministicPassIsNotShownForThePlainOne) {
  Measurements measurements;
  measurements.recorded = {run_of("flash2", {64, 64}, NumberKind::recorded, 1.0)};
  measurements.measured = {run_of("flash2", {64, 64}, NumberKind::measured, 2.0)};
  measurements.measured[0].row.run.asked.deterministic = true;
  EXPECT_EQ(measurements.find(model_of(), h200())->time_s(), 1.0);
}

TEST(Measurements, TheSameTilingIsPreferredAndAnotherProblemIsNeverTaken) {
  Measurements measurements;
  measurements.recorded = {run_of("flash2", {32, 32}, NumberKind::recorded, 1.0),
                           run_of("flash2", {64, 64}, NumberKind::recorded, 2.0),
                           run_of("flash2", {128, 64}, NumberKind::recorded, 3.0)};
  SimulationReport model = model_of();
  EXPECT_EQ(measurements.find(model, h200())->time_s(), 2.0);
  EXPECT_EQ(measurements.find(model_of("flash1"), h200()), nullptr);
  model.run.asked.variant.carry = Carry::fp32;
  EXPECT_EQ(measurements.find(model, h200()), nullptr);
  model = model_of();
  model.run.problem.N = 2048;
  EXPECT_EQ(measurements.find(model, h200()), nullptr);
}

TEST(Measurements, AMissingNumberHasAReason) {
  MeasuredRun out_of_memory;
  out_of_memory.row.error = failed("out of memory: 34 GB of scores");
  EXPECT_FALSE(out_of_memory.time_s());
  EXPECT_FALSE(out_of_memory.counter(counter::kRequestedReadBytes));
  EXPECT_EQ(out_of_memory.why_unavailable(), "out of memory: 34 GB of scores");

  MeasuredRun no_permission = run_of("flash2", {64, 64}, NumberKind::measured, 1.0);
  no_permission.row.measurement->unavailable_counters["*"] = "no permission";
  EXPECT_EQ(no_permission.why_unavailable("dram__bytes_read.sum"), "no permission");
}

TEST(Measurements, ProvenanceNamesKindGpuDateAndDriver) {
  const RunProvenance provenance{NumberKind::recorded, h200_device(), "2026-01-31T00:00:00Z",
                                 "0123456789ab"};
  const std::string text = provenance.describe();
  for (const char* part : {"recorded on NVIDIA H200", "2026-01-31", "580.1", "01234567"}) {
    EXPECT_THAT(text, testing::HasSubstr(part));
  }
}

TEST(Measurements, ATraceHasTheTimeOfItsProblemAndSaysWhyThereAreNoCounters) {
  std::vector<std::string> problems;
  Measurements measurements;
  measurements.traced = load_shipped_traces(problems);
  EXPECT_THAT(problems, testing::IsEmpty());
  ASSERT_FALSE(measurements.traced.empty());
  const RecordingRow& row = measurements.traced.front().row;
  SimulationReport model;
  model.run = row.run;
  const MeasuredRun* found = measurements.find_traced(model, h200());
  ASSERT_NE(found, nullptr);
  EXPECT_GT(found->time_s().value_or(0.0), 0.0);
  EXPECT_FALSE(found->counter(counter::kRequestedReadBytes));
  EXPECT_THAT(found->why_unavailable(counter::kDramReadBytes), testing::HasSubstr("no counters"));
  EXPECT_THAT(found->provenance.describe(), testing::HasSubstr("warm L2"));

  // Measured runs do not include traces, and a trace with another tiling or GPU is not found
  EXPECT_EQ(measurements.find(model, h200()), nullptr);
  EXPECT_EQ(measurements.find_traced(model, load_gpu("t4").value()), nullptr);
  model.run.tiling = {8, 8};
  EXPECT_EQ(measurements.find_traced(model, h200()), nullptr);
}

}  // namespace
}  // namespace attnscope::app
