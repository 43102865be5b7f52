/// Text that stays inside its rectangle, and symbols with true subscripts.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/draw/canvas.h"

namespace attnscope::app::draw {

enum class Align : std::uint8_t { left, center, right };

/// One line at `at` (its upper edge); x is the left edge, centre or right edge.
void text(const Canvas& canvas, const FontRef& font, ImVec2 at, ImU32 color, std::string_view text,
          Align align = Align::left);

/// One line that reads upwards, centred at `center`.
void vertical_text(const Canvas& canvas, const FontRef& font, ImVec2 center, ImU32 color,
                   std::string_view text);

/// The text, cut with "…" where it is wider than `width`; empty when not even that fits.
std::string fitted(const FontRef& font, std::string_view text, float width);

/// The first of these wordings that is no wider than `width`, for text that is never cut; empty
/// when none is.
std::string widest_that_fits(const FontRef& font, std::span<const std::string> wordings,
                             float width);

/// The same for a label that is never left out: the last wording where none fits.
std::string label_that_fits(const FontRef& font, std::span<const std::string> wordings,
                            float width);

/// One line, fitted.
void fitted_text(const Canvas& canvas, const FontRef& font, ImVec2 at, ImU32 color,
                 std::string_view text, float width, Align align = Align::left);

/// One line when it fits as it is, otherwise nothing. Returns whether it was drawn.
bool text_if_fits(const Canvas& canvas, const FontRef& font, ImVec2 at, ImU32 color,
                  std::string_view text, float width, Align align = Align::left);

/// Lines of at most `width`, broken at spaces.
std::vector<std::string> wrapped(const FontRef& font, std::string_view text, float width);

/// Draws at most `max_lines` wrapped lines, the last one fitted; returns the height used.
float wrapped_text(const Canvas& canvas, const FontRef& font, ImVec2 at, ImU32 color,
                   std::string_view text, float width, int max_lines);

/// Draws a tooltip at the pointer, with lines of at most `width`.
void tooltip(const FontRef& font, ImVec2 padding, float width, std::string_view text);

/// A name with an optional subscript, and a superscript after it: {"S", "21", ""} is S₂₁.
struct Symbol {
  std::string base;
  std::string subscript;
  std::string superscript = {};
};

float width_of(const FontRef& font, const Symbol& symbol);
void draw_symbol(const Canvas& canvas, const FontRef& font, ImVec2 at, ImU32 color,
                 const Symbol& symbol, Align align = Align::left);

}  // namespace attnscope::app::draw
