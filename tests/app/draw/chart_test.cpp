#include "app/draw/chart.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "app/draw/format.h"
#include "tests/app/panels/headless_imgui.h"

namespace attnscope::app::draw {
namespace {

std::string plain(double value) {
  return format_tick(value, "B");
}

TEST(ChartAxis, PlacesValuesLinearlyOrByTheirLogarithm) {
  const Axis logarithmic{"N", true, 1.0, 1000.0};
  EXPECT_FLOAT_EQ(logarithmic.position(1.0), 0.0f);
  EXPECT_FLOAT_EQ(logarithmic.position(10.0), 1.0f / 3.0f);
  EXPECT_FLOAT_EQ(logarithmic.position(1000.0), 1.0f);
  const Axis linear{"N", false, 10.0, 20.0};
  EXPECT_FLOAT_EQ(linear.position(15.0), 0.5f);
  EXPECT_GT(linear.position(25.0), 1.0f);
}

TEST(ChartTicks, AreDecadesOnALogarithmicAxis) {
  const auto found = ticks({"bytes", true, 1e8, 1e12}, 5, plain);
  ASSERT_EQ(found.size(), 5U);
  EXPECT_EQ(found.front().label, "100 MB");
  EXPECT_EQ(found.back().label, "1 TB");
}

TEST(ChartTicks, SkipDecadesIfThereAreMany) {
  const auto found = ticks({"bytes", true, 1.0, 1e12}, 5, plain);
  EXPECT_LE(found.size(), 5U);
  EXPECT_GE(found.size(), 3U);
}

TEST(ChartTicks, AreRoundStepsOnALinearAxis) {
  const auto found = ticks({"ms", false, 0.0, 0.9}, 5, plain);
  ASSERT_EQ(found.size(), 5U);
  EXPECT_NEAR(found[1].value, 0.2, 1e-12);
}

TEST(ChartTicks, AreNoneOnAnEmptyAxis) {
  EXPECT_TRUE(ticks({"x", false, 1.0, 1.0}, 5, plain).empty());
}

TEST(Chart, WidensItsAxisToWholeDecades) {
  Axis axis;
  Series series;
  series.points = {{1, 3e8, ""}, {2, 5e11, ""}, {3, std::nan(""), ""}, {4, 0.0, ""}};
  fit_decades(axis, {series});
  EXPECT_DOUBLE_EQ(axis.low, 1e8);
  EXPECT_DOUBLE_EQ(axis.high, 1e12);
}

TEST(Chart, LinesOnOneAnotherTakeTurns) {
  const ImVec2 a{0, 100}, b{50, 80}, c{50, 40};
  const std::vector<LinePiece> pieces = {{a, b, 0, false},
                                         {a, {50.5f, 80}, 1, false},
                                         {a, c, 2, false},
                                         {a, b, 3, true},
                                         {a, b, 4, false}};
  const std::vector<Turn> turns = turns_of(pieces, 1.5f);
  ASSERT_EQ(turns.size(), pieces.size());
  for (const std::size_t k : {0U, 1U, 4U}) EXPECT_EQ(turns[k].count, 3) << k;
  EXPECT_EQ(turns[0].index, 0);
  EXPECT_EQ(turns[1].index, 1);
  EXPECT_EQ(turns[4].index, 2);
  EXPECT_EQ(turns[2].count, 1);  // its line ends elsewhere
  EXPECT_EQ(turns[3].count, 1);  // its line has a different style
}

TEST(Chart, WritesItsPointsAsText) {
  Chart chart;
  chart.x.name = "N";
  chart.y.name = "bytes";
  Series series;
  series.name = "flash2, requested";
  series.points = {{256, 1024, ""}};
  chart.series.push_back(series);
  EXPECT_EQ(chart_csv(chart), "series,N,bytes\n\"flash2, requested\",256,1024\n");
}

TEST(Chart, AnswersThePointUnderTheMouseAndDrawsNothingOfNaN) {
  test::HeadlessImGui imgui(600, 400);
  Chart chart;
  chart.x = {"N", false, 0.0, 10.0};
  chart.y = {"bytes", false, 0.0, 10.0};
  Series series;
  series.color = 0xFFFFFFFF;
  series.marker = Marker::circle;
  series.points = {{5.0, 5.0, "middle"}, {7.0, std::numeric_limits<double>::quiet_NaN(), "none"}};
  chart.series.push_back(series);
  const Rect rect{{0, 0}, {600, 400}};
  ChartZoom zoom;
  std::string about;
  for (int x = 0; x < 600; x += 4) {
    for (int frame = 0; frame < 2; ++frame) {
      imgui.set_mouse({static_cast<float>(x), 180.0f});
      imgui.frame(rect, [&] {
        const Canvas canvas{ImGui::GetWindowDrawList(), theme(ThemeName::dark), imgui.fonts(),
                            1.0f};
        const ChartPoint* near = draw_chart(canvas, rect, chart, zoom);
        if (near != nullptr) about = near->about;
      });
    }
  }
  EXPECT_EQ(about, "middle");
  EXPECT_EQ(imgui.letters_outside(rect), 0);
}

TEST(BarChart, IsZoomedByTheWheel) {
  test::HeadlessImGui imgui(600, 200);
  constexpr ImU32 kFirst = 0xFF0000FF, kSecond = 0xFF00FF00;
  BarChart chart;
  chart.bars = {{.name = "bar",
                 .label = "10 B",
                 .segments = {{.value = 5.0, .color = kFirst}, {.value = 5.0, .color = kSecond}}}};
  fit_from_zero(chart.axis, chart.bars);
  const TickLabel label = [](double value) { return fmt::format("{:g}", value); };
  chart.ticks = ticks(chart.axis, 5, label);
  chart.tick_label = label;
  const Rect rect{{0, 0}, {600, 200}};
  ZoomedAxis zoom;
  const auto draw = [&] {
    imgui.frame(rect, [&] {
      const Canvas canvas{ImGui::GetWindowDrawList(), theme(ThemeName::dark), imgui.fonts(), 1.0f};
      draw_bar_chart(canvas, rect, chart, zoom);
    });
  };
  const ImVec2 left{100.0f, 84.0f};
  imgui.set_mouse({450.0f, 84.0f});
  draw();
  draw();
  EXPECT_EQ(imgui.color_at(left), kFirst);
  ImGui::GetIO().MouseWheel = 6.0f;
  draw();
  EXPECT_NEAR(zoom.size(), std::pow(0.8, 6.0), 1e-9);
  EXPECT_EQ(imgui.color_at(left), kSecond);
  EXPECT_NE(imgui.color_at({10.0f, 84.0f}), kSecond);  // nothing overlaps the names
  EXPECT_EQ(imgui.letters_outside(rect), 0);
  ImGui::GetIO().MouseWheel = -20.0f;
  draw();
  EXPECT_EQ(imgui.color_at(left), kFirst);
}

TEST(ZoomedChart, HasFinerTicksWhereFewOfItsOwnAreVisible) {
  const Axis axis{.name = "bytes", .logarithmic = true, .low = 1.0, .high = 1e4};
  const TickLabel label = [](double value) { return fmt::format("{:g}", value); };
  const std::vector<Tick> own = ticks(axis, 5, label);
  ASSERT_EQ(own.size(), 5U);
  EXPECT_EQ(visible_ticks(axis, own, {}, label).size(), 5U);

  // Three decades have a tick each; half a decade has round steps between 100 and 316
  EXPECT_EQ(visible_ticks(axis, own, {0.0, 0.75}, label).size(), 4U);
  const std::vector<Tick> fine = visible_ticks(axis, own, {0.5, 0.625}, label);
  ASSERT_GE(fine.size(), 3U);
  for (const Tick& tick : fine) {
    EXPECT_GE(tick.value, 100.0);
    EXPECT_LE(tick.value, 317.0);
  }
  EXPECT_EQ(visible_ticks(axis, own, {0.51, 0.6}, nullptr).size(), 0U);
}

}  // namespace
}  // namespace attnscope::app::draw
