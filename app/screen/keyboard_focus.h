/// The widget that has the keyboard focus: Tab and Shift+Tab move the focus through the bars, the
/// tabs and buttons of the panels, or an open popup; Enter presses the widget.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/ui/named_rects.h"
#include "app/ui/theme.h"

namespace attnscope::app {

class KeyboardFocus {
 public:
  /// Call it before the widgets of a frame are drawn: moves the focus in the order of the last
  /// frame. A mouse click hides the focus; Tab continues from the widget that was clicked.
  void begin_frame();

  /// Every widget calls this once in a frame, in Tab order. Draws a ring around the widget in
  /// focus; returns whether Enter presses it. While a popup is open, only its widgets take part.
  bool visit(std::string_view name, const Rect& rect, const Theme& theme);
  /// Whether the widget received the focus in this frame: editing then begins in a text box.
  bool comes_to(std::string_view name) const { return moved_ && name == focused_; }
  /// Whether Enter presses the widget.
  bool acts() const { return shown_; }
  /// The name of the widget in focus; empty: none.
  const std::string& focused() const { return focused_; }
  /// Makes Tab continue from this widget, which has the keyboard although Tab did not reach it.
  void start_at(std::string_view name) { focused_ = name; }
  /// Notes that a list is open, which then receives the arrow keys and Enter.
  void note_list() { list_open_ = true; }
  /// Whether a list was open in the last frame: Dear ImGui closes it at the beginning of this frame
  /// if Escape is pressed, which then means nothing else.
  bool had_list() const { return had_list_; }

 private:
  std::string focused_;
  bool shown_ = false;  ///< whether a ring shows the focus, and Enter presses the widget
  std::vector<std::string> order_;  ///< names of this frame's widgets so far
  bool moved_ = false;              ///< whether the focus moved in this frame
  bool entered_ = false;            ///< Enter was pressed in this frame
  bool list_open_ = false;
  bool had_list_ = false;
};

}  // namespace attnscope::app
