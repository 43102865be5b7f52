/// Drawing tools for every part of the screen: the frame, and the buttons of the bars, which are
/// surfaces with text or an icon, each named so that tests can click it.
#pragma once

#include <string_view>

#include "app/screen/keyboard_focus.h"
#include "app/screen/layout.h"

namespace attnscope::app {

class App;

struct Frame {
  App& app;
  const Theme& theme;
  const Fonts& fonts;
  const Scales& scales;
  NamedRects& rects;
  KeyboardFocus& focus;
  double time_s = 0.0;

  /// A length of the 1600 x 900 design in pixels.
  float px(float design) const { return design * scales.layout; }
  /// A length that scales with text, in pixels.
  float text_px(float design) const { return design * scales.font; }
};

}  // namespace attnscope::app

namespace attnscope::app::ui {

enum class Icon : std::uint8_t { none, play, pause, to_begin, to_end, back, forward };

struct Button {
  std::string_view name;  ///< the name of its rectangle
  Rect rect;
  std::string_view text;
  std::string_view help = {};  ///< shown while the pointer is over it
  Icon icon = Icon::none;      ///< before the text; `forward` is after it
  bool primary = false;        ///< true: drawn in the primary colour
  bool enabled = true;         ///< false: drawn faint, and cannot be pressed
};

/// Draws the button and returns whether it was clicked.
bool draw_button(const Frame& frame, const Button& button);

/// Names the rectangle of the last ImGui item and adds it to the Tab order; returns whether Enter
/// presses it.
bool visit_item(const Frame& frame, std::string_view name);

/// Shows a wrapped tooltip in the app's font if the mouse is over the last item.
void tooltip(const Frame& frame, std::string_view text);
/// Shows a tooltip at once, beside the rectangle that it explains.
void tooltip_beside(const Frame& frame, std::string_view text, const Rect& about);

/// Closes the popup that is being drawn if Escape is pressed.
void close_popup_on_escape();

/// Draws text with its middle at `center`.
void draw_centered(ImDrawList* list, const FontRef& font, ImVec2 center, ImU32 color,
                   std::string_view text);

}  // namespace attnscope::app::ui
