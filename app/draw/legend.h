/// The legend of a chart: a sample and a name, as many per row as fit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/draw/canvas.h"

namespace attnscope::app::draw {

enum class Marker : std::uint8_t { none, circle, square, cross };

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

}  // namespace attnscope::app::draw
