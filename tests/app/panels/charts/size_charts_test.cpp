#include "app/panels/charts/charts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "app/report/kernel_dram.h"
#include "app/report/kernel_time.h"
#include "tests/app/panels/panel_helpers.h"
#include "tests/app/report/recorded_run.h"

namespace attnscope::app {
namespace {

using test::find_series;

/// Settings of recorded runs: 16k tokens with the default d and precision.
SweepKey recorded_settings() {
  return recorded_key({}, "h200", {});
}

const SizeSweep& sweep() {
  static const SizeSweep swept = [] {
    WorkControl control;
    return run_size_sweep(recorded_settings(), load_gpu("h200").value(), control);
  }();
  return swept;
}

MeasuredRun recorded(const SweepPoint& point) {
  MeasuredRun run;
  run.row.run = point.report.run;
  Measurement measurement;
  measurement.time = {1e-3, 2e-3, 3e-3, 20};
  measurement.counters[std::string(counter::kRequestedReadBytes)] = 1e9;
  measurement.counters[std::string(counter::kRequestedWriteBytes)] = 2e9;
  run.row.measurement = measurement;
  run.provenance = {NumberKind::recorded, h200_device(), "2026-01-31", "abc"};
  return run;
}

draw::Chart chart_of(ChartQuantity quantity, const Measurements& measurements) {
  return std::get<draw::Chart>(
      size_chart(sweep(), quantity, load_gpu("h200").value(), measurements, theme(ThemeName::dark))
          .picture);
}

TEST(SizeCharts, DrawALineOfTheModelForEachAlgorithm) {
  const draw::Chart chart = chart_of(ChartQuantity::bytes, {});
  for (const char* name : {"standard, requested", "flash1, requested", "flash2, requested",
                           "block_sparse, requested", "block_sparse2, requested"}) {
    const draw::Series* series = find_series(chart, name);
    ASSERT_NE(series, nullptr) << name;
    EXPECT_TRUE(series->line);
    ASSERT_EQ(series->points.size(), sweep_values(sweep().key).size());
    EXPECT_NE(series->points[0].about.find("modelled"), std::string::npos);
  }
  EXPECT_EQ(find_series(chart, "recorded"), nullptr);
  EXPECT_EQ(find_series(chart, "split_kv"), nullptr);
}

TEST(SizeCharts, StandardMovesTheMostBytesAtEveryLength) {
  const draw::Chart chart = chart_of(ChartQuantity::bytes, {});
  const auto& standard = find_series(chart, "standard, requested")->points;
  const auto& flash2 = find_series(chart, "flash2, requested")->points;
  for (std::size_t k = 0; k < standard.size(); ++k) EXPECT_GT(standard[k].y, flash2[k].y);
}

TEST(SizeCharts, ShowRecordedPointsWithTheirGpu) {
  Measurements measurements;
  measurements.recorded.push_back(recorded(sweep().points[3]));
  const draw::Chart bytes = chart_of(ChartQuantity::bytes, measurements);
  ASSERT_NE(find_series(bytes, "requested, recorded"), nullptr);
  const draw::Chart time = chart_of(ChartQuantity::time, measurements);
  const draw::Series* points = find_series(time, "recorded on NVIDIA H200");
  ASSERT_NE(points, nullptr);
  EXPECT_FALSE(points->line);
  ASSERT_EQ(points->points.size(), 1U);
  EXPECT_DOUBLE_EQ(points->points[0].y, 2e-3);
  EXPECT_NE(points->points[0].about.find("2026-01-31"), std::string::npos);
}

TEST(SizeCharts, PredictEveryPointAsIfItWereAlone) {
  SweepKey key = recorded_settings();
  key.predicts = true;
  key.over = ChartAxis::head_dim;
  key.run.problem.batch = 1;
  key.run.problem.heads = key.run.problem.kv_heads = 2;
  key.run.problem.N = key.run.problem.N_kv = 512;
  WorkControl control;
  const GpuDescription h200 = load_gpu("h200").value();
  const SizeSweep sweep = run_size_sweep(key, h200, control);
  EXPECT_EQ(control.progress(), 1.0);
  const std::vector<double> values = sweep_values(key);
  std::size_t place = 0;
  std::string algorithm;
  for (const SweepPoint& point : sweep.points) {
    if (point.algorithm() != algorithm) place = 0;
    algorithm = point.algorithm();
    EXPECT_EQ(point.value, values.at(place++)) << algorithm;
    SimulationReport alone = point.report;
    alone.dram.reset();
    predict_kernel_dram(alone, h200);
    predict_kernel_time(alone, h200);
    ASSERT_TRUE(point.report.dram && alone.dram) << algorithm << point.value;
    EXPECT_EQ(point.report.dram->launches, alone.dram->launches) << algorithm << point.value;
    ASSERT_TRUE(point.report.time && alone.time) << algorithm << point.value;
    EXPECT_EQ(point.report.time->seconds, alone.time->seconds) << algorithm << point.value;
  }
  EXPECT_GE(sweep.points.size(), 3 * values.size());
}

TEST(SizeCharts, DrawPredictedTimesAboveTheBoundsThatTheyDependOn) {
  SweepKey key = recorded_settings();
  key.predicts = true;
  WorkControl control;
  const GpuDescription h200 = load_gpu("h200").value();
  const SizeSweep predicted = run_size_sweep(key, h200, control);
  const auto chart = [&](ChartQuantity quantity) {
    return std::get<draw::Chart>(
        size_chart(predicted, quantity, h200, {}, theme(ThemeName::dark)).picture);
  };
  const draw::Chart time = chart(ChartQuantity::time);
  const draw::Chart rate = chart(ChartQuantity::rate);
  for (const std::string name : {"standard", "flash1", "flash2"}) {
    const draw::Series* predicted_times = find_series(time, name + ", predicted");
    const draw::Series* bounds = find_series(time, name + ", lower bound");
    const draw::Series* rates = find_series(rate, name + ", predicted");
    ASSERT_TRUE(predicted_times != nullptr && bounds != nullptr && rates != nullptr) << name;
    ASSERT_EQ(predicted_times->points.size(), bounds->points.size());
    EXPECT_FALSE(predicted_times->dashed);
    EXPECT_TRUE(bounds->dashed);
    for (std::size_t k = 0; k < bounds->points.size(); ++k) {
      EXPECT_GT(predicted_times->points[k].y, bounds->points[k].y);
      EXPECT_GT(rates->points[k].y, 1.0);
      EXPECT_LT(rates->points[k].y, 989.5) << "the peak of the tensor cores";
    }
  }
  EXPECT_EQ(find_series(chart_of(ChartQuantity::time, {}), "flash2, predicted"), nullptr)
      << "that sweep makes no predictions";

  Measurements measurements;
  measurements.recorded.push_back(recorded(predicted.points[3]));
  const draw::Chart both = std::get<draw::Chart>(
      size_chart(predicted, ChartQuantity::time, h200, measurements, theme(ThemeName::dark))
          .picture);
  const std::string about = find_series(both, "recorded on NVIDIA H200")->points[0].about;
  EXPECT_NE(about.find("\npredicted "), std::string::npos) << about;
  EXPECT_THAT(about, testing::ContainsRegex(", recorded 2 ms: [-+][0-9.]+ %; "));
}

TEST(SizeCharts, ShowTimesOfOtherLibrariesOnTheirGpuAndPass) {
  Measurements measurements;
  const AttentionProblem& problem = sweep().points[2].report.run.problem;
  measurements.peers = {{"cuDNN", "NVIDIA H200", "recorded", problem, false, 1e-3},
                        {"cuDNN", "NVIDIA H200", "recorded", problem, true, 3e-3},
                        {"other", "NVIDIA H100 80GB HBM3", "recorded", problem, false, 2e-3}};
  const draw::Chart time = chart_of(ChartQuantity::time, measurements);
  const draw::Series* peers = find_series(time, "cuDNN");
  ASSERT_NE(peers, nullptr);
  ASSERT_EQ(peers->points.size(), 1U);
  EXPECT_DOUBLE_EQ(peers->points[0].y, 1e-3);
  EXPECT_EQ(find_series(time, "other"), nullptr);
  const draw::Chart rate = chart_of(ChartQuantity::rate, measurements);
  EXPECT_DOUBLE_EQ(find_series(rate, "cuDNN")->points[0].y,
                   tflops(sweep(), sweep().points[2].report, 1e-3));
  EXPECT_EQ(find_series(chart_of(ChartQuantity::bytes, measurements), "cuDNN"), nullptr);
}

/// standard computes hidden scores too, and four products in the backward pass where flash2 has
/// five: equal times must still give equal rates.
TEST(SizeCharts, CountTheSameProductsForEveryRateOfAProblem) {
  for (const PassKind pass : {PassKind::forward, PassKind::backward}) {
    SweepKey key = recorded_settings();
    key.run.problem.mask = Mask::causal();
    key.run.pass = pass;
    WorkControl control;
    const GpuDescription h200 = load_gpu("h200").value();
    const SizeSweep swept = run_size_sweep(key, h200, control);
    std::map<double, std::set<double>> rates;
    for (const SweepPoint& point : swept.points) {
      if (point.report.run.problem.block_mask != nullptr) continue;
      rates[point.value].insert(tflops(swept, point.report, 1e-3));
    }
    ASSERT_FALSE(rates.empty());
    for (const auto& [value, different] : rates) EXPECT_EQ(different.size(), 1U) << value;
  }
}

TEST(SizeCharts, MarkWhereAGpuRanOutOfMemory) {
  MeasuredRun run = recorded(sweep().points.back());
  run.row.measurement.reset();
  run.row.error = failed("out of memory");
  Measurements measurements;
  measurements.recorded.push_back(run);
  const draw::Chart chart = chart_of(ChartQuantity::memory, measurements);
  const draw::Series* refused = find_series(chart, "did not run");
  ASSERT_NE(refused, nullptr);
  EXPECT_NE(refused->points[0].about.find("out of memory"), std::string::npos);
  EXPECT_NE(find_series(chart, "of HBM"), nullptr);
  EXPECT_TRUE(capacity_words(load_gpu("rtx4090").value()).ends_with("of GDDR6X"));
}

TEST(SizeCharts, LeaveOutRecordingsOfAnotherGpuOrCacheStateAndMarkThoseInOtherTiles) {
  const auto points_beside = [](const MeasuredRun& run, const char* gpu) {
    Measurements measurements;
    measurements.recorded.push_back(run);
    const ShownChart shown = size_chart(sweep(), ChartQuantity::time, load_gpu(gpu).value(),
                                        measurements, theme(ThemeName::dark));
    return find_series(std::get<draw::Chart>(shown.picture), "recorded on") != nullptr;
  };
  const MeasuredRun alike = recorded(sweep().points[3]);
  EXPECT_TRUE(points_beside(alike, "h200"));
  EXPECT_FALSE(points_beside(alike, "t4"));
  MeasuredRun tiles = alike;
  tiles.row.run.tiling = {8, 8};
  EXPECT_FALSE(points_beside(tiles, "h200"));
  MeasuredRun warm = alike;
  warm.provenance.on.cache = CacheState::warm;
  EXPECT_FALSE(points_beside(warm, "h200"));

  // Runs with other tiles have their own markers, with text that names the difference
  for (const bool both : {false, true}) {
    Measurements measurements;
    measurements.recorded.push_back(tiles);
    if (both) measurements.recorded.push_back(alike);
    const draw::Chart time = chart_of(ChartQuantity::time, measurements);
    const draw::Series* apart = find_series(time, "other tiles or program, recorded");
    ASSERT_EQ(apart != nullptr, !both) << "the run itself is shown if it was recorded";
    if (both) continue;
    EXPECT_EQ(apart->marker, draw::Marker::diamond);
    EXPECT_NE(apart->points[0].about.find("recorded with tiles of 8"), std::string::npos)
        << apart->points[0].about;
    EXPECT_EQ(time.legend.back().marker, draw::Marker::diamond);
  }
}

TEST(SizeCharts, AreOfTheProblemOnTheScreen) {
  AttentionProblem problem{.batch = 2, .heads = 3, .kv_heads = 3, .d = 16, .dtype = DType::fp16};
  problem.mask = Mask::causal();
  ResolvedRun run;
  run.asked.problem = problem;
  const SweepKey key = charted_key(run, ChartAxis::seq_len, "t4");
  EXPECT_EQ(key.run.problem, problem);
  EXPECT_EQ(key.run.gpu, "t4");
  EXPECT_EQ(key.over, ChartAxis::seq_len);
  const GpuDescription t4 = load_gpu("t4").value();
  const ShownChart shown = size_chart({.key = key, .points = {}, .left_out = {}},
                                      ChartQuantity::bytes, t4, {}, theme(ThemeName::dark));
  EXPECT_EQ(shown.title, "BYTES AGAINST N");
  EXPECT_EQ(shown.subtitle, "d 16, fp16, B 2, H 3, causal, forward, " + t4.display_name);
}

TEST(SizeCharts, OfTheRecordedSettingsSayThatTheTokensAreFixed) {
  const ShownChart shown = size_chart(sweep(), ChartQuantity::bytes, load_gpu("h200").value(), {},
                                      theme(ThemeName::dark));
  EXPECT_EQ(shown.title, "BYTES, 16k TOKENS");
  EXPECT_TRUE(shown.subtitle.starts_with("16k tokens in all, B = 16k / N: d 64, bf16, H 32"))
      << shown.subtitle;

  // The nearest settings that a GPU ran; the problem's own if a GPU ran those, or if there are no
  // recordings
  Measurements measurements;
  measurements.recorded.push_back(recorded(sweep().points[3]));
  ResolvedRun run;
  run.asked.problem = {.d = 16, .dtype = DType::fp16};
  EXPECT_EQ(recorded_key(run, "h200", measurements), recorded_settings());
  EXPECT_EQ(recorded_key(run, "h200", {}).run.problem.d, 16);
}

/// The sweep of a problem whose runs were recorded: 16 heads of 4096 keys in 4 sequences.
SizeSweep sweep_over(ChartAxis over, bool predicts) {
  ResolvedRun run;
  run.asked.problem = {.batch = 4,
                       .heads = 16,
                       .kv_heads = 4,
                       .N = 4096,
                       .N_kv = 4096,
                       .d = 128,
                       .dtype = DType::bf16};
  SweepKey key = charted_key(run, over, "h200");
  key.predicts = predicts;
  WorkControl control;
  return run_size_sweep(key, load_gpu("h200").value(), control);
}

class SweptAxis : public testing::TestWithParam<ChartAxis> {};

TEST_P(SweptAxis, ChangesOnlyItsFieldAndDrawsEveryQuantity) {
  const SizeSweep swept = sweep_over(GetParam(), false);
  const std::vector<double> values = sweep_values(swept.key);
  EXPECT_TRUE(std::ranges::is_sorted(values));
  ASSERT_GE(values.size(), 5U);
  std::set<double> flash2;
  for (const SweepPoint& point : swept.points) {
    const ResolvedRun& run = point.report.run;
    AttentionProblem problem = run.problem;
    const double density = problem.block_mask != nullptr ? problem.block_mask->density() : 1.0;
    problem.block_mask = nullptr;
    const std::map<ChartAxis, double> fields = {
        {ChartAxis::heads, static_cast<double>(problem.heads)},
        {ChartAxis::head_dim, static_cast<double>(problem.d)},
        {ChartAxis::block_size, static_cast<double>(run.tiling.Br)},
        {ChartAxis::density,
         point.algorithm().starts_with("block_sparse") ? density : point.value}};
    EXPECT_DOUBLE_EQ(fields.at(GetParam()), point.value) << point.algorithm();
    EXPECT_EQ(problem.heads / problem.kv_heads, 4);
    problem.heads = 16;
    problem.kv_heads = 4;
    problem.d = 128;
    EXPECT_EQ(problem, swept.key.run.problem);
    if (point.algorithm() == "flash2") flash2.insert(point.value);
  }
  EXPECT_EQ(flash2.size(), values.size());

  const GpuDescription h200 = load_gpu("h200").value();
  for (const ChartQuantity quantity :
       {ChartQuantity::bytes, ChartQuantity::time, ChartQuantity::rate, ChartQuantity::memory}) {
    const ShownChart shown = size_chart(swept, quantity, h200, {}, theme(ThemeName::dark));
    const auto& chart = std::get<draw::Chart>(shown.picture);
    EXPECT_NE(shown.title.find("AGAINST"), std::string::npos) << shown.title;
    EXPECT_FALSE(chart.x_ticks.empty());
    for (const draw::Series& series : chart.series) {
      for (const draw::ChartPoint& point : series.points) {
        EXPECT_GE(chart.x.position(point.x), 0.0f);
        EXPECT_LE(chart.x.position(point.x), 1.0f);
        EXPECT_LE(chart.y.position(point.y), 1.0f);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryField, SweptAxis,
                         testing::Values(ChartAxis::heads, ChartAxis::head_dim,
                                         ChartAxis::block_size, ChartAxis::density),
                         [](const auto& test) { return std::string(to_string(test.param)); });

TEST(SweptAxes, MoveFewerBytesInLargerTilesAndUnderSparserMasks) {
  const auto bytes = [](const SizeSweep& swept, std::string_view algorithm) {
    std::vector<Index> list;
    for (const SweepPoint& point : swept.points) {
      if (point.algorithm() == algorithm) list.push_back(point.report.requested.total());
    }
    return list;
  };
  const auto tiles = bytes(sweep_over(ChartAxis::block_size, false), "flash2");
  EXPECT_TRUE(std::ranges::is_sorted(tiles, std::greater<>()));
  EXPECT_GT(tiles.front(), 10 * tiles.back());
  const SizeSweep masks = sweep_over(ChartAxis::density, false);
  const auto sparse = bytes(masks, "block_sparse");
  EXPECT_TRUE(std::ranges::is_sorted(sparse));
  EXPECT_GT(sparse.back(), 4 * sparse.front());
  const auto dense = bytes(masks, "flash2");
  EXPECT_EQ(dense.front(), dense.back());
}

TEST(SweptAxes, PredictTimesAndShowRecordedOnesWhereTheyExist) {
  const SizeSweep swept = sweep_over(ChartAxis::head_dim, true);
  const auto at_128 = std::ranges::find_if(swept.points, [](const SweepPoint& point) {
    return point.algorithm() == "flash2" && point.value == 128.0;
  });
  ASSERT_NE(at_128, swept.points.end());
  Measurements measurements;
  measurements.recorded.push_back(recorded(*at_128));
  measurements.peers = {
      {"cuDNN", "NVIDIA H200", "recorded", at_128->report.run.problem, false, 1e-3}};
  const auto chart_over = [&](const SizeSweep& sweep) {
    return std::get<draw::Chart>(size_chart(sweep, ChartQuantity::time, load_gpu("h200").value(),
                                            measurements, theme(ThemeName::dark))
                                     .picture);
  };
  const draw::Chart widths = chart_over(swept);
  const draw::Series* predicted = find_series(widths, "flash2, predicted");
  const draw::Series* bound = find_series(widths, "flash2, lower bound");
  ASSERT_TRUE(predicted != nullptr && bound != nullptr);
  EXPECT_FALSE(predicted->dashed);
  EXPECT_TRUE(bound->dashed);
  ASSERT_NE(find_series(widths, "flash2 time, recorded"), nullptr);
  EXPECT_EQ(find_series(widths, "flash2 time, recorded")->points[0].x, 128.0);
  ASSERT_EQ(find_series(widths, "cuDNN")->points.size(), 1U);

  // Another library's time does not depend on the tiles
  const SizeSweep tiles = sweep_over(ChartAxis::block_size, false);
  EXPECT_EQ(find_series(chart_over(tiles), "cuDNN")->points.size(), sweep_values(tiles.key).size());
}

}  // namespace
}  // namespace attnscope::app
