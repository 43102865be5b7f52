/// The context menu of a panel.
#pragma once

#include "app/screen/widgets.h"

namespace attnscope::app {

/// The context menu of a panel (right mouse button): the items of what was clicked in it; enlarge
/// it, save its picture, or copy the command that prints the run's numbers. Named rectangles:
/// "panel_menu.enlarge" and so on.
void draw_panel_menu(const Frame& frame, const Panel& panel, const Rect& rect, bool of_rival);

}  // namespace attnscope::app
