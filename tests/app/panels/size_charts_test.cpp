#include "app/panels/size_charts.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/app/report/recorded_run.h"

namespace attnscope::app {
namespace {

SweepKey recorded_key() {
  return {64, DType::bf16, Mask::none(), "h200"};
}

const SizeSweep& sweep() {
  static const SizeSweep swept = [] {
    WorkControl control;
    return run_size_sweep(recorded_key(), load_gpu("h200").value(), control);
  }();
  return swept;
}

MeasuredRun recorded(const SweepPoint& point) {
  MeasuredRun run;
  run.row.problem = point.report.problem;
  run.row.algorithm = point.algorithm;
  run.row.tiling = point.report.tiling;
  Measurement measurement;
  measurement.time = {1e-3, 2e-3, 3e-3, 20};
  measurement.counters[std::string(counter::kRequestedReadBytes)] = 1e9;
  measurement.counters[std::string(counter::kRequestedWriteBytes)] = 2e9;
  run.row.measurement = measurement;
  run.provenance = {NumberKind::recorded, h200_device(), "2026-01-31", "abc"};
  return run;
}

const draw::Series* series_named(const draw::Chart& chart, std::string_view part) {
  const auto found = std::ranges::find_if(chart.series, [&](const draw::Series& series) {
    return series.name.find(part) != std::string::npos;
  });
  return found == chart.series.end() ? nullptr : &*found;
}

draw::Chart chart_of(ChartChoice quantity, const Measurements& measurements) {
  return std::get<draw::Chart>(size_chart(sweep(), quantity, true, load_gpu("h200").value(),
                                          measurements, theme(ThemeName::dark))
                                   .picture);
}

TEST(SizeCharts, DrawALineOfTheModelForEachAlgorithm) {
  const draw::Chart chart = chart_of(ChartChoice::bytes, {});
  for (const char* name :
       {"standard, requested", "flash1, requested", "flash2, requested", "split_kv, requested",
        "block_sparse, requested", "block_sparse2, requested"}) {
    const draw::Series* series = series_named(chart, name);
    ASSERT_NE(series, nullptr) << name;
    EXPECT_TRUE(series->line);
    ASSERT_EQ(series->points.size(), sweep_lengths().size());
    EXPECT_NE(series->points[0].about.find("modelled"), std::string::npos);
  }
  EXPECT_EQ(series_named(chart, "recorded"), nullptr);
}

TEST(SizeCharts, StandardMovesTheMostBytesAtEveryLength) {
  const draw::Chart chart = chart_of(ChartChoice::bytes, {});
  const auto& standard = series_named(chart, "standard, requested")->points;
  const auto& flash2 = series_named(chart, "flash2, requested")->points;
  for (std::size_t k = 0; k < standard.size(); ++k) EXPECT_GT(standard[k].y, flash2[k].y);
}

TEST(SizeCharts, SetRecordedPointsBesideWithTheirGpu) {
  Measurements measurements;
  measurements.recorded.push_back(recorded(sweep().points[3]));
  const draw::Chart bytes = chart_of(ChartChoice::bytes, measurements);
  ASSERT_NE(series_named(bytes, "requested, recorded"), nullptr);
  const draw::Chart time = chart_of(ChartChoice::time, measurements);
  const draw::Series* points = series_named(time, "recorded on NVIDIA H200");
  ASSERT_NE(points, nullptr);
  EXPECT_FALSE(points->line);
  ASSERT_EQ(points->points.size(), 1U);
  EXPECT_DOUBLE_EQ(points->points[0].y, 2e-3);
  EXPECT_NE(points->points[0].about.find("2026-01-31"), std::string::npos);
}

TEST(SizeCharts, MarkWhereAGpuRanOutOfMemory) {
  MeasuredRun run = recorded(sweep().points.back());
  run.row.measurement.reset();
  run.row.error = failed("out of memory");
  Measurements measurements;
  measurements.recorded.push_back(run);
  const draw::Chart chart = chart_of(ChartChoice::memory, measurements);
  const draw::Series* refused = series_named(chart, "did not run");
  ASSERT_NE(refused, nullptr);
  EXPECT_NE(refused->points[0].about.find("out of memory"), std::string::npos);
  EXPECT_NE(series_named(chart, "of HBM"), nullptr);
  EXPECT_TRUE(capacity_words(load_gpu("rtx4090").value()).ends_with("of GDDR6X"));
}

TEST(SizeCharts, KeepTheProblemsSettingsWhereAGpuRanThem) {
  Measurements measurements;
  measurements.recorded.push_back(recorded(sweep().points[3]));
  AttentionProblem problem;
  problem.d = 64;
  EXPECT_EQ(charted_key(problem, "h200", PassKind::forward, measurements), recorded_key());
  problem.d = 16;
  problem.dtype = DType::fp16;
  EXPECT_EQ(charted_key(problem, "h200", PassKind::forward, measurements), recorded_key());
  EXPECT_EQ(charted_key(problem, "h200", PassKind::forward, {}).d, 16);
}

}  // namespace
}  // namespace attnscope::app
