/// Colours: one table for the whole app. Every panel takes its colours from here; a tensor has the
/// same colour wherever it appears (Okabe and Ito's palette, safe for colour-blind eyes).
#pragma once

#include <imgui.h>

#include <array>
#include <cstdint>
#include <string_view>

#include "reference/enum_names.h"

namespace attnscope::app {

enum class ThemeName : std::uint8_t { dark, light, contrast };
constexpr std::array<std::string_view, 3> enum_names(ThemeName) {
  return {"dark", "light", "contrast"};
}

/// dark -> light -> contrast -> dark.
ThemeName next_theme(ThemeName name);

/// The source of a number. Always stated in words beside the number; the colour only repeats it.
enum class NumberKind : std::uint8_t {
  modelled,
  measured,
  recorded,
  datasheet,
  counted_in_kernel,
  unavailable
};

constexpr std::array<std::string_view, 6> enum_names(NumberKind) {
  return {"modelled", "measured", "recorded", "datasheet", "counted in kernel", "unavailable"};
}

struct Theme {
  // Surfaces, from the back to the front
  ImU32 background = 0;  ///< behind everything
  ImU32 bar = 0;         ///< the top bar and the transport bar
  ImU32 card = 0;        ///< a panel
  ImU32 card_border = 0;
  ImU32 inset = 0;  ///< a box inside a panel (SRAM, HBM)
  ImU32 inset_border = 0;
  ImU32 field = 0;  ///< an input field, a combo
  ImU32 button = 0;
  ImU32 button_hovered = 0;
  ImU32 button_active = 0;
  ImU32 primary = 0;  ///< the Play button
  ImU32 primary_hovered = 0;
  ImU32 track = 0;  ///< the empty part of a bar or a slider
  ImU32 grid = 0;   ///< lines of a chart, separators

  // Text
  ImU32 text = 0;
  ImU32 text_dim = 0;        ///< headings, labels
  ImU32 text_faint = 0;      ///< units, notes
  ImU32 text_on_tensor = 0;  ///< on a surface filled with a tensor's colour

  // Meaning
  ImU32 accent = 0;  ///< the playhead, links
  ImU32 good = 0;
  ImU32 warning = 0;
  ImU32 error = 0;
  ImU32 error_surface = 0;  ///< behind an invalid field
  ImU32 highlight = 0;      ///< outline of what the current operation touches
  ImU32 untouched = 0;      ///< a tile not computed yet
  ImU32 heat_low = 0;       ///< ends of the sequential scale of values
  ImU32 heat_high = 0;
};

/// The theme of this name, which lives as long as the program.
const Theme& theme(ThemeName name);

/// The colour of a tensor by its name in the papers: Q K V S P O m l LSE alpha, dQ dK dV dO dP dS
/// D; text colour for any other name. For surfaces; text uses tensor_text_color().
ImU32 tensor_color(const Theme& theme, std::string_view tensor);

/// The tensor's colour, mixed with the text colour until it is readable as text on a card.
ImU32 tensor_text_color(const Theme& theme, std::string_view tensor);

/// The colour for a number's kind.
ImU32 number_color(const Theme& theme, NumberKind kind);

/// The colour at another opacity, 0 to 1.
ImU32 with_alpha(ImU32 color, float alpha);

/// Linear mix of two colours: t = 0 gives a, t = 1 gives b.
ImU32 mix(ImU32 a, ImU32 b, float t);

/// The relative luminance of WCAG 2 and the contrast ratio that follows from it (1 to 21).
double contrast_ratio(ImU32 a, ImU32 b);

/// Sets the colours, paddings and rounding of Dear ImGui's own widgets.
void apply_to_imgui(const Theme& theme, float scale);

// The roles of text on the screen, and the font and size of each.

/// A font and the size, in pixels, at which it is drawn.
struct FontRef {
  ImFont* font = nullptr;
  float size = 13.0f;

  /// Width and height of the text in pixels.
  ImVec2 measure(std::string_view text) const;
  /// Draws the text, and notes its word under the mouse (app/ui/pointed_word.h).
  void draw(ImDrawList* list, ImVec2 position, ImU32 color, std::string_view text) const;
};

struct Fonts {
  FontRef ui;       ///< Inter: labels, sentences
  FontRef ui_bold;  ///< Inter SemiBold: names of tensors, totals
  FontRef title;    ///< Inter SemiBold: headings of panels
  FontRef small;    ///< Inter, smaller: units, notes, axis ticks
  FontRef mono;     ///< DejaVu Sans Mono: numbers, pseudo-code, source
  FontRef mono_small;
  // For a card with room for larger text, instead of ui, ui_bold and mono
  FontRef large, large_bold, large_mono;
};

/// Uses a font for Dear ImGui's widgets until the end of the block.
class FontScope {
 public:
  explicit FontScope(const FontRef& font);
  ~FontScope();
  FontScope(const FontScope&) = delete;
  FontScope& operator=(const FontScope&) = delete;
};

}  // namespace attnscope::app
