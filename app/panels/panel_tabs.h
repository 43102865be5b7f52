/// Choices at the right end of a panel's heading: "pseudo-code | CUDA source".
#pragma once

#include <initializer_list>
#include <string_view>

#include "app/panel.h"

namespace attnscope::app {

/// Draws the labels, the chosen one lit, and answers which is chosen now. Named rectangles:
/// "PANEL.tab.LABEL".
int draw_header_tabs(const PanelContext& context, std::string_view panel,
                     std::initializer_list<std::string_view> labels, int chosen);

/// A line of text that is pressed like a button; its right edge at `right`. Answers its left edge
/// and whether it was pressed.
struct TextButton {
  float left = 0.0f;
  bool pressed = false;
};
TextButton draw_text_button(const PanelContext& context, std::string_view name,
                            std::string_view label, ImVec2 upper_right, bool lit);

}  // namespace attnscope::app
