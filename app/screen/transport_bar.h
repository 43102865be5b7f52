/// The bar at the bottom of the screen.
#pragma once

#include "app/screen/widgets.h"

namespace attnscope::app {

/// Draws the fixed bar at the bottom: steps, playing, speed, and the whole run as a line.
void draw_transport_bar(const Frame& frame, const Rect& rect);

}  // namespace attnscope::app
