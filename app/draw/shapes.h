/// Lines and surfaces beyond ImDrawList's own: hatching, dashes, arrows, labels in a box.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "app/draw/canvas.h"

namespace attnscope::app::draw {

void fill(const Canvas& canvas, const Rect& rect, ImU32 color, float rounding = 0.0f);
void outline(const Canvas& canvas, const Rect& rect, ImU32 color, float thickness = 1.0f,
             float rounding = 0.0f);

/// Diagonal lines across the rectangle; `spacing` in pixels.
void hatch(const Canvas& canvas, const Rect& rect, ImU32 color, float spacing);

/// Rows of dots, every other row shifted, for areas without values; `spacing` in pixels.
void dots(const Canvas& canvas, const Rect& rect, ImU32 color, float spacing);

void dashed_line(const Canvas& canvas, ImVec2 from, ImVec2 to, ImU32 color, float thickness,
                 float dash);
/// One of `count` lines on the same place, which take turns at dashes: this draws the `index`-th of
/// every `count` dashes, and with `gaps` omits every second one.
void interleaved_line(const Canvas& canvas, ImVec2 from, ImVec2 to, ImU32 color, float thickness,
                      float dash, int index, int count, bool gaps);
void dashed_outline(const Canvas& canvas, const Rect& rect, ImU32 color, float thickness,
                    float dash);

/// A cubic curve from `from` to `to` with an arrow head at its end.
struct Curve {
  ImVec2 from, control_from, control_to, to;
  ImVec2 at(float t) const;
};

/// The curve of a transfer between two boxes, one above the other; it starts and ends vertically.
Curve vertical_curve(ImVec2 from, ImVec2 to);
/// The curve over the tops of two boxes beside each other, rising by `rise` pixels.
Curve arc_over(ImVec2 from, ImVec2 to, float rise);

void draw_arrow(const Canvas& canvas, const Curve& curve, ImU32 color, float thickness,
                bool dashed);

/// Text in a rounded box, centred at `center` but kept inside `bounds`; returns the box.
Rect badge(const Canvas& canvas, const FontRef& font, ImVec2 center, const Rect& bounds,
           ImU32 color, std::string_view text);

/// A triangle that points right: the mark of a row.
void marker_right(const Canvas& canvas, ImVec2 tip, float size, ImU32 color);

// Finds room for a label beside things that it must not cover.

/// Along one axis, in pixels.
struct Range {
  float low = 0.0f;
  float high = 0.0f;
};

/// The centre nearest to `wish`, preferring the higher of two equally near ones, of a place of this
/// width within `room` that touches none of the taken ranges; nothing where there is none.
std::optional<float> free_center(float wish, float width, const Range& room,
                                 std::span<const Range> taken);

/// The x range of the curve at the heights of the band; of its middle if it does not cross the
/// band.
Range crossing(const Curve& curve, const Range& band);

}  // namespace attnscope::app::draw
