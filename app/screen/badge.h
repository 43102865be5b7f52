/// The badge that shows where the numbers come from.
#pragma once

#include "app/screen/widgets.h"

namespace attnscope::app {

/// Draws two items on the right of the bar: the badge, which shows whether the real numbers come
/// from this machine's GPU, come from recordings or are missing; and the button that runs the
/// kernel, disabled without a GPU. Returns their left edge.
float draw_badge(const Frame& frame, const Rect& bar);

}  // namespace attnscope::app
