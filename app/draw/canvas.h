/// The canvas that every drawing helper uses, with its colours, fonts and scale; text that stays
/// inside its rectangle; symbols with true subscripts; shapes that ImDrawList lacks.
#pragma once

#include <imgui.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/ui/named_rects.h"
#include "app/ui/theme.h"

namespace attnscope::app::draw {

struct Canvas {
  ImDrawList* list;
  const Theme& theme;
  const Fonts& fonts;
  float scale = 1.0f;  ///< pixels per unit of the 1600 x 900 design

  float px(float design_units) const { return design_units * scale; }
};

/// Height of a line of text in this font, with the space between lines.
inline float line_height(const FontRef& font) {
  return font.size * 1.3f;
}

// Text.

enum class Align : std::uint8_t { left, center, right };

/// Draws one line; at.y is its upper edge, at.x its left edge, centre or right edge.
void text(const Canvas& canvas, const FontRef& font, ImVec2 at, ImU32 color, std::string_view text,
          Align align = Align::left);

/// Draws one line that reads upwards, centred at `center`.
void vertical_text(const Canvas& canvas, const FontRef& font, ImVec2 center, ImU32 color,
                   std::string_view text);

/// The text, cut with "…" if it is wider than `width`; empty if not even one letter fits before the
/// "…".
std::string fitted(const FontRef& font, std::string_view text, float width);

/// The first of these wordings that fits in `width`, for text that is never cut; empty if none
/// does.
std::string widest_that_fits(const FontRef& font, std::span<const std::string> wordings,
                             float width);

/// Like widest_that_fits(), for a label that is never left out: the last wording if none fits.
std::string label_that_fits(const FontRef& font, std::span<const std::string> wordings,
                            float width);

/// Draws one line, cut by fitted().
void fitted_text(const Canvas& canvas, const FontRef& font, ImVec2 at, ImU32 color,
                 std::string_view text, float width, Align align = Align::left);

/// Draws one line if it fits uncut, otherwise nothing. Returns whether it was drawn.
bool text_if_fits(const Canvas& canvas, const FontRef& font, ImVec2 at, ImU32 color,
                  std::string_view text, float width, Align align = Align::left);

/// The text in lines of at most `width`, broken at spaces.
std::vector<std::string> wrapped(const FontRef& font, std::string_view text, float width);

/// Draws at most `max_lines` wrapped lines, the last one fitted; returns the height used.
float wrapped_text(const Canvas& canvas, const FontRef& font, ImVec2 at, ImU32 color,
                   std::string_view text, float width, int max_lines);

/// A name with an optional subscript, and a superscript after it: {"S", "21", ""} is S₂₁.
struct Symbol {
  std::string base;
  std::string subscript;
  std::string superscript = {};
};

float width_of(const FontRef& font, const Symbol& symbol);
void draw_symbol(const Canvas& canvas, const FontRef& font, ImVec2 at, ImU32 color,
                 const Symbol& symbol, Align align = Align::left);

// Surfaces and lines.

void fill(const Canvas& canvas, const Rect& rect, ImU32 color, float rounding = 0.0f);
void outline(const Canvas& canvas, const Rect& rect, ImU32 color, float thickness = 1.0f,
             float rounding = 0.0f);

/// Draws diagonal lines across the rectangle; `spacing` in pixels.
void hatch(const Canvas& canvas, const Rect& rect, ImU32 color, float spacing);

/// Draws rows of dots, every other row shifted, for areas without values; `spacing` in pixels.
void dots(const Canvas& canvas, const Rect& rect, ImU32 color, float spacing);

void dashed_line(const Canvas& canvas, ImVec2 from, ImVec2 to, ImU32 color, float thickness,
                 float dash);
/// Draws one of `count` lines that share a place and alternate their dashes: the `index`-th of
/// every `count` dashes. With `gaps`, a gap of the same length follows every dash.
void interleaved_line(const Canvas& canvas, ImVec2 from, ImVec2 to, ImU32 color, float thickness,
                      float dash, int index, int count, bool gaps);
void dashed_outline(const Canvas& canvas, const Rect& rect, ImU32 color, float thickness,
                    float dash);

/// A cubic curve from `from` to `to`.
struct Curve {
  ImVec2 from, control_from, control_to, to;
  ImVec2 at(float t) const;
};

/// A curve that starts and ends vertically.
Curve vertical_curve(ImVec2 from, ImVec2 to);
/// A curve over the tops of two adjacent boxes, rising by `rise` pixels.
Curve arc_over(ImVec2 from, ImVec2 to, float rise);

/// Connected curves: the path of an arrow around things that it must not cross.
class Route {
 public:
  explicit Route(std::vector<Curve> curves);
  /// The point at this fraction of the length, 0 to 1.
  ImVec2 at(float t) const;
  ImVec2 end() const { return curves_.back().to; }
  /// The length in pixels.
  float length() const { return ends_.back(); }
  Route reversed() const;

 private:
  std::vector<Curve> curves_;  ///< never empty
  std::vector<float> ends_;    ///< the length up to the end of each curve
};

/// Draws a line along the route, with an arrow head at its end.
void draw_arrow(const Canvas& canvas, const Route& route, ImU32 color, float thickness,
                bool dashed);

/// Draws text in a rounded box, centred at `center` but kept inside `bounds`; returns the box.
Rect badge(const Canvas& canvas, const FontRef& font, ImVec2 center, const Rect& bounds,
           ImU32 color, std::string_view text);

/// Draws a triangle that points right, to mark a row.
void marker_right(const Canvas& canvas, ImVec2 tip, float size, ImU32 color);

// Room for a label beside things that it must not cover.

/// A range along one axis, in pixels.
struct Range {
  float low = 0.0f;
  float high = 0.0f;
};

/// The centre of a place of this width within `room` that is free of taken ranges: the one nearest
/// to `wish`, and the higher of two equally near ones; nothing if there is none.
std::optional<float> free_center(float wish, float width, const Range& room,
                                 std::span<const Range> taken);

/// The range of the route's x within the band's heights; if the route does not cross the band, the
/// x of its middle.
Range crossing(const Route& route, const Range& band);

}  // namespace attnscope::app::draw
