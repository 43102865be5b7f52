/// Bar charts: horizontal bars of stacked segments, each with a name at its left and its value at
/// its right.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/draw/chart.h"

namespace attnscope::app::draw {

struct BarSegment {
  std::string name;  ///< in the CSV
  double value = 0.0;
  ImU32 color = 0;
  bool hatched = false;
  bool begins = false;  ///< starts a group: a gap precedes it
  std::string about;    ///< shown on hover
};

struct Bar {
  std::string name;
  std::string label;  ///< the value with its unit, or the reason why there is none
  bool refused = false;
  std::vector<BarSegment> segments;
  std::optional<double> mark;  ///< a value to compare with
  std::string about;           ///< shown on hover of name and value
};

struct BarChart {
  Axis axis;  ///< linear, from 0
  std::vector<Tick> ticks;
  std::vector<Bar> bars;
  std::vector<LegendEntry> legend;
  ImU32 mark_color = 0;
};

/// From 0 to the largest sum or mark.
void fit_from_zero(Axis& axis, const std::vector<Bar>& bars);

/// Draws the bars; returns the tooltip of the segment or the bar under the mouse.
const std::string* draw_bar_chart(const Canvas& canvas, const Rect& rect, const BarChart& chart);

/// One line per segment, with a heading line.
std::string bar_chart_csv(const BarChart& chart);

}  // namespace attnscope::app::draw
