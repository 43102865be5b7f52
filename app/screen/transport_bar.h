/// The fixed bar at the bottom: steps, playing, speed, and the whole run as a line.
#pragma once

#include "app/ui/widgets.h"

namespace attnscope::app {

void draw_transport_bar(const Frame& frame, const Rect& rect);

/// Faster (direction 1) or slower (-1), in powers of two.
double next_speed(double speed, int direction);

}  // namespace attnscope::app
