/// The roofline of a run: the places of its points, the ceilings above them, and the text without a
/// calibration.

#include "app/panels/charts/roofline_chart.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "app/draw/format.h"
#include "tests/app/panels/panel_helpers.h"
#include "tests/app/panels/sample_snapshot.h"
#include "tests/app/report/recorded_run.h"

namespace attnscope::app {
namespace {

using test::find_series;

constexpr double kTera = 1e12;

ResolvedRun run_of(Index N = 4096) {
  RecordingRow row = recorded_run("flash2", 64);
  row.run.problem.N = row.run.problem.N_kv = N;
  row.run.problem.d = 64;
  row.run.problem.dtype = DType::bf16;
  row.run.tiling = {128, 128};
  return model_of(row, load_gpu("h200").value()).run;
}

bool has_label(const draw::Chart& chart, std::string_view part) {
  return std::ranges::any_of(chart.legend, [&](const draw::LegendEntry& entry) {
    return entry.label.find(part) != std::string::npos;
  });
}

TEST(RooflineChart, PredictedPointsLieBelowTheMeasuredCeilingsOfTheirLevels) {
  const GpuDescription gpu = load_gpu("h200").value();
  WorkControl control;
  const Roofline roofline = predict_roofline(run_of(), gpu, control).value();
  const SimulationReport& model = roofline.model;
  const ShownChart shown = roofline_chart(roofline, gpu, {}, theme(ThemeName::dark));
  const auto& chart = std::get<draw::Chart>(shown.picture);
  const auto flops = static_cast<double>(model.matmul_flops);
  const double rate = flops / model.time.value().seconds;
  const MachineRates& rates = roofline.measured.value();
  const std::string l2 = "L2 " + draw::format_bandwidth(rates.l2_read_bytes_per_s);
  const std::string dram = "DRAM " + draw::format_bandwidth(rates.dram_read_bytes_per_s);
  const struct {
    const char* series;
    std::string roof;
    Index bytes;
  } levels[] = {{"requested, predicted", l2, model.requested.total()},
                {"L2, predicted", l2, model.requested.total()},
                {"DRAM, predicted", dram, model.dram.value().total.total()}};
  for (const auto& level : levels) {
    SCOPED_TRACE(level.series);
    const draw::Series* points = find_series(chart, level.series);
    ASSERT_NE(points, nullptr);
    ASSERT_EQ(points->points.size(), 1U);
    const draw::ChartPoint& point = points->points[0];
    EXPECT_DOUBLE_EQ(point.x, flops / static_cast<double>(level.bytes));
    EXPECT_DOUBLE_EQ(point.y, rate / kTera);
    const draw::Series* roof = find_series(chart, level.roof);
    ASSERT_NE(roof, nullptr);
    EXPECT_NE(roof->name.find("measured"), std::string::npos);
    const draw::ChartPoint& corner = roof->points.back();
    EXPECT_LT(point.y, std::min(1.0, point.x / corner.x) * corner.y);
    EXPECT_LT(chart.x.low, point.x);
    EXPECT_GT(chart.x.high, point.x);
    EXPECT_LT(chart.y.low, point.y);
    EXPECT_GT(chart.y.high, corner.y);
  }
  const draw::Series* datasheet = find_series(chart, "datasheet");
  ASSERT_NE(datasheet, nullptr);
  EXPECT_TRUE(datasheet->dashed);
  EXPECT_NE(datasheet->name.find("4.8 TB/s"), std::string::npos) << datasheet->name;
  EXPECT_TRUE(has_label(chart, "tensor cores"));
  EXPECT_TRUE(has_label(chart, "mma.sync"));
  EXPECT_EQ(shown.subtitle.find("bounds only"), std::string::npos);
}

TEST(RooflineChart, ARecordedRunHasAPointAtEveryLevel) {
  const GpuDescription gpu = load_gpu("h200").value();
  WorkControl control;
  const Roofline roofline = predict_roofline(run_of(), gpu, control).value();
  MeasuredRun seen;
  seen.row.run = roofline.model.run;
  seen.row.run.asked.kernel = "flash2";
  seen.row.measurement = Measurement{};
  seen.row.measurement->time = {1e-3, 2e-3, 3e-3, 20};
  seen.row.measurement->counters =
      counters_of(roofline.model.requested, roofline.model.dram.value().total, 0.5);
  seen.provenance = {NumberKind::recorded, h200_device(), "2026-01-31", "abc"};
  Measurements measurements;
  measurements.recorded.push_back(seen);
  const ShownChart shown = roofline_chart(roofline, gpu, measurements, theme(ThemeName::dark));
  const auto& chart = std::get<draw::Chart>(shown.picture);
  const auto flops = static_cast<double>(roofline.model.matmul_flops);
  const auto requested = static_cast<double>(roofline.model.requested.total());
  for (const char* name : {"requested, recorded", "L2, recorded", "DRAM, recorded"}) {
    const draw::Series* points = find_series(chart, name);
    ASSERT_NE(points, nullptr) << name;
    ASSERT_EQ(points->points.size(), 1U) << name;
    EXPECT_EQ(points->marker, draw::Marker::square);
    EXPECT_DOUBLE_EQ(points->points[0].y, flops / 2e-3 / kTera) << name;
    EXPECT_NE(points->points[0].about.find("NVIDIA H200"), std::string::npos);
  }
  EXPECT_NEAR(find_series(chart, "L2, recorded")->points[0].x, flops / (0.5 * requested), 1e-6);
  EXPECT_TRUE(has_label(chart, "recorded on NVIDIA H200"));

  // Without its counter, a point is left out
  measurements.recorded[0].row.measurement->counters.erase(std::string(counter::kL2ReadSectors));
  const ShownChart without = roofline_chart(roofline, gpu, measurements, theme(ThemeName::dark));
  EXPECT_EQ(find_series(std::get<draw::Chart>(without.picture), "L2, recorded"), nullptr);
}

TEST(RooflineChart, WithoutACalibrationHasBoundsOnlyAndSaysSo) {
  const GpuDescription gpu = load_gpu("t4").value();
  WorkControl control;
  RunSpec spec = run_of(1024).asked;
  spec.kernel.clear();
  spec.problem.dtype = DType::fp16;
  spec.problem.N = spec.problem.N_kv = 1024;
  spec.allow_overflow = true;
  const ResolvedRun run = resolve_and_simulate(spec, gpu).value().run;
  const Roofline roofline = predict_roofline(run, gpu, control).value();
  EXPECT_FALSE(roofline.measured);
  const ShownChart shown = roofline_chart(roofline, gpu, {}, theme(ThemeName::light));
  const auto& chart = std::get<draw::Chart>(shown.picture);
  EXPECT_TRUE(shown.subtitle.starts_with("bounds only: ")) << shown.subtitle;
  EXPECT_TRUE(has_label(chart, "bounds only: the GPU is not calibrated"));
  EXPECT_EQ(find_series(chart, "predicted"), nullptr);
  EXPECT_EQ(find_series(chart, "measured"), nullptr);
  const draw::Series* bound = find_series(chart, "DRAM, bound");
  ASSERT_NE(bound, nullptr);
  EXPECT_DOUBLE_EQ(bound->points.at(0).y, static_cast<double>(roofline.model.matmul_flops) /
                                              roofline.model.bound_s / kTera);
  EXPECT_NE(find_series(chart, "datasheet"), nullptr);
}

}  // namespace
}  // namespace attnscope::app
