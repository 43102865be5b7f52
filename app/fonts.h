/// The roles of text on the screen, and the font and size of each.
#pragma once

#include <imgui.h>

#include <cstdint>
#include <string_view>

namespace attnscope::app {

/// A font and the size, in pixels, at which it is drawn.
struct FontRef {
  ImFont* font = nullptr;
  float size = 13.0f;

  /// Width and height of the text in pixels.
  ImVec2 measure(std::string_view text) const;
  void draw(ImDrawList* list, ImVec2 position, ImU32 color, std::string_view text) const;
};

struct Fonts {
  FontRef ui;       ///< Inter: labels, sentences
  FontRef ui_bold;  ///< Inter SemiBold: names of tensors, totals
  FontRef title;    ///< Inter SemiBold: headings of panels
  FontRef small;    ///< Inter, smaller: units, notes, axis ticks
  FontRef mono;     ///< DejaVu Sans Mono: numbers, pseudo-code, source
  FontRef mono_small;
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
