/// Draws values as coloured rectangles. To limit their number, values that share a cell are
/// averaged.
#pragma once

#include <functional>

#include "app/draw/canvas.h"
#include "sim/snapshot/snapshot.h"

namespace attnscope::app::draw {

/// Values reduced to at most `max_rows` x `max_cols` cells: each the mean of its finite
/// values; -inf when none is finite but some are -inf, NaN when all are NaN.
ValueTile aggregated(const ValueTile& values, Index max_rows, Index max_cols);

/// Smallest and largest finite value; {0, 1} when there is none.
struct ValueRange {
  double low = 0.0;
  double high = 1.0;
  /// Position of a value between low and high, 0 to 1.
  float position(double value) const;
};
ValueRange range_of(const ValueTile& values);

/// The colour at t, 0 to 1, on the theme's sequential scale. In the dark theme it runs from dark
/// blue to yellow, which colour-blind readers can distinguish.
ImU32 sequential_color(const Theme& theme, float t);

/// Colour of a value; 0 for a cell that stays empty.
using CellColor = std::function<ImU32(double)>;

/// Draws every cell of `values` in `rect`; neighbours of the same colour in a row become one
/// rectangle.
void heat_map(const Canvas& canvas, const Rect& rect, const ValueTile& values,
              const CellColor& color);

/// Draws a ramp of the sequential scale.
void ramp(const Canvas& canvas, const Rect& rect);

}  // namespace attnscope::app::draw
