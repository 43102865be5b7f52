/// Charts of the studies show the values that the studies compute.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "app/draw/format.h"
#include "app/panels/charts/charts.h"
#include "app/report/report_text.h"
#include "app/scene/view_state.h"
#include "sim/schedule/algorithm.h"
#include "tests/app/report/recorded_run.h"

namespace attnscope::app {
namespace {

const GpuDescription& h200() {
  static const GpuDescription gpu = load_gpu("h200").value();
  return gpu;
}

const draw::Series& series_named(const draw::Chart& chart, std::string_view begin) {
  const auto found = std::ranges::find_if(
      chart.series, [&](const draw::Series& series) { return series.name.starts_with(begin); });
  if (found == chart.series.end()) throw std::runtime_error("no series " + std::string(begin));
  return *found;
}

draw::Chart theorem_chart_of(const TheoremKey& key, const TheoremPoints& points,
                             const Measurements& measurements = {}) {
  return std::get<draw::Chart>(
      theorem_chart(key, points, h200(), measurements, theme(ThemeName::dark)).picture);
}

TEST(AlgorithmColor, IsDifferentForEveryAlgorithmOfTheCatalog) {
  for (const ThemeName name : {ThemeName::dark, ThemeName::light}) {
    std::set<ImU32> colors{algorithm_color(theme(name), "no algorithm")};
    for (const Algorithm& algorithm : algorithms()) {
      EXPECT_TRUE(colors.insert(algorithm_color(theme(name), algorithm.name)).second)
          << algorithm.name;
    }
  }
}

TEST(ErrorChart, HasALineForEveryAlgorithmAndKeepsFlash1sOutputInFp32) {
  AttentionProblem problem;
  problem.d = 16;
  problem.dtype = DType::bf16;
  for (const PassKind pass : {PassKind::forward, PassKind::backward}) {
    const ErrorKey key = error_key(problem, pass, Carry::fp32);
    EXPECT_EQ(key, error_key(problem, pass, ViewState{}.error_carry));
    WorkControl control;
    const auto errors = count_errors(key, h200(), control).value();
    EXPECT_DOUBLE_EQ(control.progress(), 1.0);
    const draw::Chart chart =
        std::get<draw::Chart>(error_chart(key, errors, theme(ThemeName::dark)).picture);
    ASSERT_EQ(chart.series.size(), 4U);
    for (const draw::Series& series : chart.series) {
      EXPECT_EQ(series.points.size(), 4U) << series.name;
      EXPECT_NE(series.points[0].about.find("modelled"), std::string::npos);
    }
    const bool forward = pass == PassKind::forward;
    const auto& wide =
        series_named(chart, forward ? "flash1, O in HBM in fp32" : "flash1, dQ in HBM in fp32");

    // With O or dQ in HBM in bf16, flash1 loses accuracy with every column tile, and the chart says
    // that this precision is AttnScope's choice
    const ErrorKey rounded_key = error_key(problem, pass, Carry::problem);
    const auto rounded_errors = count_errors(rounded_key, h200(), control).value();
    const ShownChart rounded = error_chart(rounded_key, rounded_errors, theme(ThemeName::dark));
    EXPECT_NE(rounded.about.find("AttnScope's choice"), std::string::npos);
    const auto& narrow = series_named(std::get<draw::Chart>(rounded.picture), "flash1");
    EXPECT_GT(narrow.points.back().y, 1.3 * wide.points.back().y);
    EXPECT_NE(narrow.points[0].about.find("AttnScope's choice"), std::string::npos);
    EXPECT_EQ(wide.points[0].about.find("AttnScope's choice"), std::string::npos);
    EXPECT_EQ(series_named(chart, "flash2").points[3].y,
              (pass == PassKind::forward ? errors.back().O : errors.back().dQ).rel_fro_error);
  }
  WorkControl cancelled;
  cancelled.cancel();
  EXPECT_FALSE(count_errors(error_key(problem, PassKind::forward, Carry::fp32), h200(), cancelled));
}

class TheoremCharts : public testing::TestWithParam<std::tuple<IoAxis, PassKind>> {};

TEST_P(TheoremCharts, DrawWhatTheStudyCountsAndTheTheoremBesideIt) {
  const auto [axis, pass] = GetParam();
  const TheoremKey key = theorem_key(axis, pass, usual_io_problem(), h200());
  WorkControl control;
  const TheoremPoints points = count_theorems(key, h200(), control).value();
  EXPECT_DOUBLE_EQ(control.progress(), 1.0);
  ASSERT_EQ(points.size(), usual_values(key.axis).size());
  const draw::Chart chart = theorem_chart_of(key, points);
  const bool sparse = key.axis == IoAxis::density;
  const draw::Series& counted = series_named(chart, sparse ? "block_sparse" : "flash1");
  const draw::Series& standard = series_named(chart, "standard");
  const draw::Series& bound = series_named(chart, "N²d²");
  EXPECT_FALSE(counted.line);
  EXPECT_TRUE(bound.line);
  ASSERT_EQ(counted.points.size(), points.size());
  std::size_t bounded = 0;
  for (std::size_t k = 0; k < points.size(); ++k) {
    EXPECT_EQ(counted.points[k].y, static_cast<double>(points[k].counted.requested.total()));
    EXPECT_EQ(standard.points[k].y, static_cast<double>(points[k].standard_bytes));
    EXPECT_NE(counted.points[k].about.find("modelled"), std::string::npos);
    if (!points[k].lower_bound_order_bytes) continue;
    EXPECT_EQ(bound.points[bounded].y, *points[k].lower_bound_order_bytes);
    const char* const kind = sparse ? "not a proven bound" : "arXiv 2402.07443";
    EXPECT_NE(bound.points[bounded].about.find(kind), std::string::npos);
    EXPECT_LT(bound.points[bounded].y, counted.points[k].y);
    ++bounded;
  }
  EXPECT_EQ(bound.points.size(), bounded);
  EXPECT_GT(bounded, 0U);

  // The axes cover every point; the CSV has all of them
  std::size_t drawn = 0;
  for (const draw::Series& series : chart.series) {
    drawn += series.points.size();
    for (const draw::ChartPoint& point : series.points) {
      EXPECT_GE(chart.x.position(point.x), 0.0f);
      EXPECT_LE(chart.y.position(point.y), 1.0f);
    }
  }
  const std::string csv = draw::chart_csv(chart);
  EXPECT_EQ(std::ranges::count(csv, '\n'), static_cast<std::ptrdiff_t>(drawn + 1));
  EXPECT_NE(csv.find(",bytes\n"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(EveryAxis, TheoremCharts,
                         testing::Combine(testing::Values(IoAxis::seq_len, IoAxis::head_dim,
                                                          IoAxis::sram_bytes, IoAxis::block_cols,
                                                          IoAxis::density),
                                          testing::Values(PassKind::forward, PassKind::backward)),
                         [](const auto& test) {
                           std::string name(to_string(std::get<0>(test.param)));
                           std::ranges::replace(name, '-', '_');
                           return fmt::format("{}_{}", name, to_string(std::get<1>(test.param)));
                         });

TEST(TheoremChart, PlacesARecordedRunOfTheKernelAtItsTile) {
  WorkControl control;
  AttentionProblem shown = usual_io_problem();
  shown.heads = shown.kv_heads = 4;
  shown.dtype = DType::bf16;
  TheoremKey key = theorem_key(IoAxis::block_cols, PassKind::forward, shown, h200());
  MeasuredRun run;
  run.row.run = {.asked = {.algorithm = "flash1"}, .problem = shown, .tiling = {128, 256}};
  run.row.run.problem.batch = 2;
  run.row.run.problem.heads = run.row.run.problem.kv_heads = 32;
  Measurement measurement;
  measurement.counters[std::string(counter::kRequestedReadBytes)] = 64 * 7e7;
  measurement.counters[std::string(counter::kRequestedWriteBytes)] = 64 * 3e7;
  run.row.measurement = measurement;
  run.provenance.on = h200_device();
  Measurements measurements;
  measurements.recorded.push_back(run);
  const auto points_along = [&](IoAxis axis) {
    key.axis = axis;
    const TheoremPoints points = count_theorems(key, h200(), control).value();
    return theorem_chart_of(key, points, measurements);
  };
  const draw::Chart of_blocks = points_along(IoAxis::block_cols);
  const draw::Series& recorded = series_named(of_blocks, "flash1, recorded on NVIDIA H200");
  ASSERT_EQ(recorded.points.size(), 1U);
  EXPECT_EQ(recorded.points[0].x, 256.0);
  EXPECT_DOUBLE_EQ(recorded.points[0].y, 4e8);
  EXPECT_EQ(series_named(points_along(IoAxis::sram_bytes), "flash1, recorded").points[0].x,
            131072.0);
  EXPECT_THROW(series_named(points_along(IoAxis::seq_len), "flash1, recorded"), std::runtime_error);
  key.run.problem.dtype = DType::fp16;
  EXPECT_THROW(series_named(points_along(IoAxis::block_cols), "flash1, recorded"),
               std::runtime_error);
}

TEST(TheoremChart, IsOfTheScreensProblemAndSaysSo) {
  AttentionProblem shown{.batch = 2, .heads = 4, .kv_heads = 2, .N = 64, .N_kv = 96, .d = 32};
  shown.mask = Mask::causal();
  shown.score.soft_cap = 5.0;
  const TheoremKey key = theorem_key(IoAxis::sram_bytes, PassKind::both, shown, h200());
  WorkControl control;
  const TheoremPoints points = count_theorems(key, h200(), control).value();
  for (const IoPoint& point : points) {
    const AttentionProblem& counted = point.counted.run.problem;
    EXPECT_EQ(counted.batch * counted.heads * counted.kv_heads, 2 * 4 * 4);
    EXPECT_EQ(counted.N * counted.N_kv * counted.d, 64 * 96 * 32);
    EXPECT_TRUE(counted.mask.is_none());
    EXPECT_EQ(static_cast<double>(point.counted.requested.total()), point.formula_bytes);
  }
  const ShownChart chart = theorem_chart(key, points, h200(), {}, theme(ThemeName::dark));
  EXPECT_EQ(chart.title, "PAPER'S BYTES AGAINST SRAM");
  EXPECT_TRUE(chart.subtitle.starts_with(
      "forward, N 64, N_kv 96, d 32, B 2, H 4, bf16, NVIDIA H200 SXM 141 GB;"))
      << chart.subtitle;
  // M is larger than N d: no theorem applies, so there is no line
  EXPECT_NE(chart.subtitle.find("no claim"), std::string::npos);
  EXPECT_THROW(series_named(std::get<draw::Chart>(chart.picture), "N²d²"), std::runtime_error);
  EXPECT_NE(chart.about.find("--over sram-bytes --pass forward --seq-len 64 --kv-len 96"),
            std::string::npos);
}

TEST(TheoremChart, NamesTheCapacityThatTheFormulasUseAndThePapersAccounting) {
  WorkControl control;
  const TheoremKey key =
      theorem_key(IoAxis::seq_len, PassKind::forward, usual_io_problem(), h200());
  const TheoremPoints points = count_theorems(key, h200(), control).value();
  const ShownChart chart = theorem_chart(key, points, h200(), {}, theme(ThemeName::dark));
  EXPECT_EQ(chart.title, "PAPER'S BYTES AGAINST N");
  EXPECT_NE(chart.subtitle.find("; M = " + draw::format_count(points.front().sram_elems)),
            std::string::npos)
      << chart.subtitle;
  const draw::Series& standard = series_named(std::get<draw::Chart>(chart.picture), "standard (");
  EXPECT_NE(standard.points.front().about.find("operand of its matrix products once"),
            std::string::npos);
}

TEST(TheoremChart, CallsTheLeadingTermNoTheoremAndTheOrderNoBoundAtAGivenM) {
  WorkControl control;
  const TheoremKey key =
      theorem_key(IoAxis::block_cols, PassKind::forward, usual_io_problem(), h200());
  const draw::Chart chart = theorem_chart_of(key, count_theorems(key, h200(), control).value());
  std::string legend;
  for (const draw::LegendEntry& entry : chart.legend) legend += entry.label + "\n";
  EXPECT_NE(legend.find("12 N²d²/M: leading term\n"), std::string::npos) << legend;
  EXPECT_NE(legend.find("N²d²/M: order of the lower bound\n"), std::string::npos) << legend;
  EXPECT_NE(series_named(chart, "12 N²d²/M").name.find("comes from Bc = M/4d"), std::string::npos);
}

TEST(TheoremChart, IsNotFinishedWhenGivenUp) {
  WorkControl control;
  control.cancel();
  EXPECT_FALSE(count_theorems({.run = {.problem = usual_io_problem()}}, h200(), control).ok());
  EXPECT_FALSE(count_fusion(figure2_key("h200"), h200(), control).ok());
  EXPECT_FALSE(count_models({ModelMode::training, "h200"}, h200(), control).ok());
}

draw::BarChart fusion_chart_of(const FusionKey& key) {
  WorkControl control;
  const auto steps = count_fusion(key, h200(), control).value();
  return std::get<draw::BarChart>(fusion_chart(key, steps, theme(ThemeName::dark)).picture);
}

double sum(const draw::Bar& bar) {
  double value = 0.0;
  for (const draw::BarSegment& segment : bar.segments) value += segment.value;
  return value;
}

TEST(FusionChart, OfFigure2HasTheStudysBytesAndWhatTheFigurePrints) {
  WorkControl control;
  const FusionKey key = figure2_key("h200");
  const auto steps = count_fusion(key, h200(), control).value();
  const draw::BarChart chart = fusion_chart_of(key);
  ASSERT_EQ(chart.bars.size(), steps.size());
  for (std::size_t k = 0; k < steps.size(); ++k) {
    EXPECT_DOUBLE_EQ(sum(chart.bars[k]), static_cast<double>(steps[k].paper_bytes()));
    EXPECT_DOUBLE_EQ(chart.bars[k].segments.back().value,
                     static_cast<double>(steps[k].statistic_bytes()));
    for (const LaunchReport& launch : steps[k].backward.launches) {
      EXPECT_NE(chart.bars[k].about.find(launch_words(launch.name)), std::string::npos)
          << launch.name;
    }
  }
  EXPECT_TRUE(chart.bars[0].label.starts_with("53.15 GB")) << chart.bars[0].label;
  EXPECT_TRUE(chart.bars[1].label.starts_with("40.27 GB")) << chart.bars[1].label;
  EXPECT_EQ(chart.bars[1].mark, 40.3e9);
  EXPECT_TRUE(chart.bars[4].label.starts_with("5.1 GB")) << chart.bars[4].label;
  EXPECT_TRUE(chart.bars[5].label.starts_with("4.563 GB")) << chart.bars[5].label;
  EXPECT_EQ(chart.bars[5].mark, 4.4e9);
  EXPECT_NE(chart.bars[4].label.find("its tiles do not fit in SRAM"), std::string::npos)
      << chart.bars[4].label;
  EXPECT_NE(chart.bars[4].about.find("backward does not fit, counted anyway"), std::string::npos);
  EXPECT_EQ(chart.bars[3].label.find("fit"), std::string::npos) << chart.bars[3].label;
  EXPECT_FALSE(chart.bars[0].mark);
  const std::string csv = draw::bar_chart_csv(chart);
  EXPECT_NE(csv.find("\"standard, unfused\",\"forward scale S read\","), std::string::npos) << csv;
}

TEST(FusionChart, SaysWhichStepsAreRefused) {
  AttentionProblem problem;
  problem.N = problem.N_kv = 64;
  problem.d = 16;
  problem.score.soft_cap = 5.0;
  const draw::BarChart chart = fusion_chart_of(fusion_key(problem, {16, 16}, "h200"));
  EXPECT_TRUE(chart.bars[0].refused);
  EXPECT_NE(chart.bars[0].about.find("soft-capping"), std::string::npos);
  EXPECT_TRUE(chart.bars[0].segments.empty());
  EXPECT_FALSE(chart.bars[1].refused);
  EXPECT_GT(sum(chart.bars[2]), 0.0);
  EXPECT_FALSE(chart.bars[2].mark);
}

TEST(FusionChart, SaysWhichLaunchesTheProblemLacks) {
  AttentionProblem problem{.N = 64, .N_kv = 64, .d = 16};
  const FusionKey plain = fusion_key(problem, {16, 16}, "h200");
  const draw::BarChart chart = fusion_chart_of(plain);
  std::vector<std::string> bars;
  for (const draw::Bar& bar : chart.bars) bars.push_back(bar.name);
  EXPECT_EQ(bars, (std::vector<std::string>{
                      "standard, unfused", "standard, fused over rows", "tiled: flash1",
                      "tiled: flash1, D once, no first reads", "tiled: flash2"}));
  const Theme& dark = theme(ThemeName::dark);
  EXPECT_TRUE(fusion_chart(plain, {}, dark)
                  .subtitle.ends_with("; no mask, no dropout: their launches are left out"));
  EXPECT_EQ(fusion_chart(figure2_key("h200"), {}, dark).subtitle.find("left out"),
            std::string::npos);
}

TEST(TheoremChart, SaysWhereMComesFromAlongTheDensity) {
  AttentionProblem shown{.N = 1024, .N_kv = 1024, .d = 64, .dtype = DType::bf16};
  const TheoremKey key = theorem_key(IoAxis::density, PassKind::forward, shown, h200());
  WorkControl control;
  const TheoremPoints points = count_theorems(key, h200(), control).value();
  const ShownChart chart = theorem_chart(key, points, h200(), {}, theme(ThemeName::dark));
  EXPECT_NE(chart.subtitle.find("M = 4 d Bc = 4 x 64 x 16 = 4096 elements: 64 tiles of keys for "
                                "the mask to choose among"),
            std::string::npos)
      << chart.subtitle;
}

TEST(ModelChart, DrawsThePeakOfTheStudyAndWhereItEnds) {
  WorkControl control;
  const ModelKey key{ModelMode::training, "h200"};
  const auto curves = count_models(key, h200(), control).value();
  ASSERT_EQ(curves.size(), attention_choices().size());
  ModelQuestion question = usual_model(ModelMode::training);
  question.capacity_bytes = h200().hbm_bytes;
  question.weights_bytes = estimated_weights_bytes(question);
  const auto chart =
      std::get<draw::Chart>(model_chart(key, curves, h200(), theme(ThemeName::dark)).picture);
  for (const ModelCurve& curve : curves) {
    EXPECT_EQ(curve.largest_length, largest_length(curve.choice, question));
    const draw::Series& series = series_named(chart, curve.choice.name + ", peak");
    for (const draw::ChartPoint& point : series.points) {
      const bool fits = point.y <= static_cast<double>(h200().hbm_bytes);
      EXPECT_EQ(fits, point.x <= static_cast<double>(curve.largest_length)) << point.x;
    }
  }
  EXPECT_EQ(count_models({ModelMode::inference, "h200"}, h200(), control).value().size(), 3U);
}

TEST(ChartChoices, KeepAnAxisWithoutTheChosenQuantity) {
  ViewState view;
  view.chart = ChartQuantity::error;
  EXPECT_EQ(shown_chart(view), (ChartChoice{ChartQuantity::error, ChartAxis::seq_len}));
  view.chart_over = ChartAxis::sram;
  EXPECT_EQ(shown_chart(view), (ChartChoice{ChartQuantity::theorems, ChartAxis::sram}));
  for (const ChartChoice& chart : all_charts()) {
    view.chart = chart.quantity;
    view.chart_over = chart.over;
    EXPECT_EQ(shown_chart(view), chart) << name_of(chart);
    EXPECT_EQ(chart.quantity == ChartQuantity::theorems && !io_axis_of(chart.over), false);
  }
  EXPECT_FALSE(parse_name<ChartQuantity>("pie"));
}

TEST(ChartChoices, OfferTheSweptQuantitiesOverEveryFieldThatIsSwept) {
  for (const ChartAxis axis : {ChartAxis::seq_len, ChartAxis::tokens, ChartAxis::heads,
                               ChartAxis::head_dim, ChartAxis::block_size, ChartAxis::density}) {
    EXPECT_EQ(std::ranges::count_if(quantities_over(axis), is_swept), 4) << to_string(axis);
  }
}

}  // namespace
}  // namespace attnscope::app
