/// The parameters of every drawing helper: draw list, colours, fonts and scale.
#pragma once

#include <imgui.h>

#include "app/theme.h"
#include "app/ui/named_rects.h"

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

}  // namespace attnscope::app::draw
