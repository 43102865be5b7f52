/// The context menu of a panel.
#pragma once

#include "app/screen/widgets.h"

namespace attnscope::app {

/// Draws the context menu of a panel (right mouse button): items for the thing that was clicked,
/// and items that enlarge the panel, save its picture, or copy the command that prints the run's
/// numbers. Named rectangles: "panel_menu.enlarge" and so on.
void draw_panel_menu(const Frame& frame, const Panel& panel, const Rect& rect, bool of_rival);

}  // namespace attnscope::app
