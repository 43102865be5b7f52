/// Line charts, with series over two axes and the point near the mouse, and bar charts
/// (bar_chart.cpp). Limited to the needs of the panels.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "app/draw/axis.h"
#include "app/draw/canvas.h"

namespace attnscope::app::draw {

// The legend of a chart: a sample and a name, as many per row as fit.

enum class Marker : std::uint8_t { none, circle, square, cross, diamond };

void draw_marker(const Canvas& canvas, Marker marker, ImVec2 at, ImU32 color);

struct LegendEntry {
  enum class Sample : std::uint8_t { none, line, dashed, marker, surface, hatched, mark };
  std::string label;
  ImU32 color = 0;
  Sample sample = Sample::line;
  Marker marker = Marker::none;
};

/// The width of the widest entry.
float legend_width(const Canvas& canvas, const std::vector<LegendEntry>& entries);

/// The height of all entries within that width, at the smallest line pitch.
float legend_height(const Canvas& canvas, const std::vector<LegendEntry>& entries, float width);

/// Draws the entries from the top of the rectangle; text that does not fit ends in "…". Returns
/// whether all were drawn.
bool draw_legend(const Canvas& canvas, const Rect& rect, const std::vector<LegendEntry>& entries);

struct ChartPoint {
  double x = 0.0;
  double y = 0.0;
  std::string about;  ///< shown on hover: value, kind, GPU, date
};

struct Series {
  std::string name;  ///< in the CSV
  ImU32 color = 0;
  bool line = true;
  bool dashed = false;
  Marker marker = Marker::none;
  std::vector<ChartPoint> points;
};

/// A piece of a line between two points of its series, in pixels.
struct LinePiece {
  ImVec2 from, to;
  std::size_t series = 0;
  bool dashed = false;
};

/// A piece's index among the pieces that share its place, and their number.
struct Turn {
  int index = 0;
  int count = 1;
};

/// The turns of all pieces: a piece whose ends are within `reach` pixels of another's ends shares
/// its place.
std::vector<Turn> turns_of(const std::vector<LinePiece>& pieces, float reach);

struct Chart {
  Axis x;
  Axis y;
  std::vector<Tick> x_ticks;
  std::vector<Tick> y_ticks;
  TickLabel y_label = nullptr;  ///< labels the ticks of a zoomed axis
  std::vector<Series> series;
  std::vector<LegendEntry> legend;
};

/// The visible part of a chart.
struct ChartZoom {
  ZoomedAxis x, y;  ///< y is counted from the bottom
  bool is_whole() const { return x.is_whole() && y.is_whole(); }
};

/// Draws the chart; overlapping lines are drawn as alternating dashes, so that all colours are
/// visible. The wheel zooms and scrolls it. Returns the point near the mouse, if any.
const ChartPoint* draw_chart(const Canvas& canvas, const Rect& rect, const Chart& chart,
                             ChartZoom& zoom);

/// Widens the axis to whole powers of ten that enclose every finite positive value of the series.
void fit_decades(Axis& axis, const std::vector<Series>& series);

/// The chart's points as comma-separated values with a header line.
std::string chart_csv(const Chart& chart);

// Bar charts: horizontal bars of stacked segments, each with a name at its left and its value at
// its right.

struct BarSegment {
  std::string name;  ///< in the CSV
  double value = 0.0;
  ImU32 color = 0;
  bool hatched = false;
  bool begins = false;  ///< true: starts a group, after a gap
  std::string about;    ///< shown on hover
};

struct Bar {
  std::string name;
  std::string label;  ///< the value with its unit, or why there is none
  bool refused = false;
  std::vector<BarSegment> segments;
  std::optional<double> mark;  ///< a value to compare the bar with
  std::string about;           ///< tooltip of name and value
};

struct BarChart {
  Axis axis;  ///< linear, from 0
  std::vector<Tick> ticks;
  TickLabel tick_label = nullptr;  ///< labels the ticks of a zoomed axis
  std::vector<Bar> bars;
  std::vector<LegendEntry> legend;
  ImU32 mark_color = 0;
};

/// Sets the axis's range: from 0 to the largest sum or mark.
void fit_from_zero(Axis& axis, const std::vector<Bar>& bars);

/// Draws the bars; the wheel zooms and scrolls their axis, `zoom`. Returns the tooltip of the
/// segment or the bar under the mouse.
const std::string* draw_bar_chart(const Canvas& canvas, const Rect& rect, const BarChart& chart,
                                  ZoomedAxis& zoom);

/// The chart as comma-separated values: a header line, and one line per segment.
std::string bar_chart_csv(const BarChart& chart);

// Charts of either kind.

using AnyChart = std::variant<Chart, BarChart>;

/// Draws the chart; the wheel zooms and scrolls it. Returns the tooltip of the thing under the
/// mouse, or nullptr.
const std::string* draw_chart(const Canvas& canvas, const Rect& rect, const AnyChart& chart,
                              ChartZoom& zoom);

std::string chart_csv(const AnyChart& chart);

const std::vector<LegendEntry>& legend_of(const AnyChart& chart);

}  // namespace attnscope::app::draw
