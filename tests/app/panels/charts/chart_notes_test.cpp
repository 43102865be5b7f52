#include "app/panels/charts/chart_notes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/app/report/recorded_run.h"

namespace attnscope::app {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

/// A point of an algorithm at N whose predicted time consists of these parts, in microseconds.
SweepPoint point_at(const char* algorithm, Index N, double overhead, double steps, double idle) {
  SweepPoint point{.value = static_cast<double>(N), .report = {}};
  point.report.run.asked.algorithm = algorithm;
  point.report.run.problem.N = point.report.run.problem.N_kv = N;
  point.report.run.tiling = {128, 64};
  LaunchTime launch{.name = "launch", .seconds = 1e-6 * (overhead + steps + idle)};
  launch.parts[static_cast<std::size_t>(TimePart::overhead)] = 1e-6 * overhead;
  launch.parts[static_cast<std::size_t>(TimePart::steps)] = 1e-6 * steps;
  launch.parts[static_cast<std::size_t>(TimePart::idle)] = 1e-6 * idle;
  point.report.time = TimePrediction{.seconds = launch.seconds, .launches = {launch}};
  return point;
}

TEST(ChartNotes, SayUpToWhereATimeIsLatencyOrIdleSms) {
  SizeSweep sweep;
  sweep.points = {point_at("standard", 256, 7, 1, 0),  point_at("standard", 2048, 7, 6, 0),
                  point_at("standard", 4096, 7, 8, 0), point_at("flash1", 256, 3, 1, 9),
                  point_at("flash1", 2048, 3, 1, 99),  point_at("flash1", 4096, 3, 1, 999),
                  point_at("flash2", 256, 3, 9, 1)};
  EXPECT_THAT(latency_note(sweep),
              ElementsAre(AllOf(HasSubstr("launch latency: standard up to N = 2k"),
                                HasSubstr("idle SMs (few thread blocks): flash1 at every N")),
                          HasSubstr("up to N = 2k: mostly"), "up to N = 2k: latency, not bytes"));
  sweep.points = {point_at("flash2", 256, 3, 9, 1)};
  EXPECT_THAT(latency_note(sweep), ElementsAre());
  sweep.points = {point_at("flash2", 256, 3, 1, 1)};
  EXPECT_EQ(latency_note(sweep).back(), "at every N: latency, not bytes");
}

TEST(ChartNotes, OfOneHeadSayWhyStandardIsPredictedToBeFasterAtFirst) {
  ResolvedRun run;
  run.asked.problem = {.N = 1024, .N_kv = 1024, .d = 64};
  SweepKey key = charted_key(run, ChartAxis::seq_len, "h200");
  key.predicts = true;
  WorkControl control;
  const SizeSweep sweep = run_size_sweep(key, load_gpu("h200").value(), control);
  EXPECT_THAT(latency_note(sweep), Contains(HasSubstr("standard up to N = ")));
  EXPECT_THAT(latency_note(sweep), Contains(HasSubstr("flash1 at every N")));
}

TEST(ChartNotes, SayThatTheRunOnTheScreenHasOtherTiles) {
  SizeSweep sweep;
  sweep.points = {point_at("flash2", 64, 3, 1, 1)};
  ResolvedRun shown = sweep.points[0].report.run;
  EXPECT_THAT(tiles_note(sweep, shown), ElementsAre());
  shown.tiling = {16, 16};
  EXPECT_EQ(tiles_note(sweep, shown).front(),
            "flash2 here uses its kernel's tiles (128 × 64); the ledger's run has 16 × 16");
  sweep.points.push_back(point_at("flash2", 128, 3, 1, 1));
  sweep.points.back().report.run.tiling = {64, 64};
  EXPECT_THAT(tiles_note(sweep, shown).front(), HasSubstr("128 × 64 at this point); the ledger"));
  shown.problem.N = 65;
  EXPECT_THAT(tiles_note(sweep, shown), ElementsAre()) << "the chart lacks that run";
}

TEST(ChartNotes, NameTheNearestRecordedRunOfTheGpuAndPass) {
  const GpuDescription h200 = load_gpu("h200").value();
  SizeSweep sweep;
  sweep.key.run.problem = {.N = 1000, .N_kv = 1000, .d = 64};
  Measurements measurements;
  EXPECT_THAT(no_recording_note(sweep, h200, measurements).front(),
              HasSubstr("no forward pass recorded"));
  for (const Index N : {512, 1024, 4096}) {
    MeasuredRun run;
    run.row.run.asked.algorithm = "flash2";
    run.row.run.problem = {.N = N, .N_kv = N, .d = 64};
    run.row.measurement = Measurement{};
    run.provenance.on = h200_device();
    measurements.recorded.push_back(run);
  }
  EXPECT_THAT(no_recording_note(sweep, h200, measurements).front(),
              HasSubstr("nearest: flash2, N 1024, d"));
  EXPECT_THAT(no_recording_note(sweep, load_gpu("t4").value(), measurements).front(),
              HasSubstr("no forward pass recorded"));

  sweep.key.run.pass = PassKind::both;
  EXPECT_THAT(no_recording_note(sweep, h200, measurements).front(), HasSubstr("choose forward"));

  // Only a chart of times without recorded ones has the note
  const auto notes = [&](bool has_recorded, ChartQuantity quantity) {
    return size_notes(sweep, quantity, {}, has_recorded, h200, measurements).size();
  };
  EXPECT_EQ(notes(false, ChartQuantity::time), 1U);
  EXPECT_EQ(notes(true, ChartQuantity::time), 0U);
  EXPECT_EQ(notes(false, ChartQuantity::memory), 0U);
}

}  // namespace
}  // namespace attnscope::app
