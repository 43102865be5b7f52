/// The boxes that start a race against another algorithm, and choose its clock.
#pragma once

#include "app/screen/field_box.h"

namespace attnscope::app {

void draw_race_field(const Frame& frame, const Rect& box);
void draw_race_clock_field(const Frame& frame, const Rect& box);

}  // namespace attnscope::app
