/// The bar at the bottom that never moves: steps, playing, speed, and the whole run as a line.
#pragma once

#include "app/ui/frame.h"

namespace attnscope::app {

class TransportBar {
 public:
  void draw(const Frame& frame, const Rect& rect);

 private:
  void draw_scrub_bar(const Frame& frame, const Rect& rect);
};

/// Faster (direction 1) or slower (-1), in powers of two.
double next_speed(double speed, int direction);

}  // namespace attnscope::app
