/// The badge that shows where the numbers come from.
#pragma once

#include "app/screen/widgets.h"

namespace attnscope::app {

/// The badge on the right of the bar: whether the real numbers come from this machine's GPU, from
/// recordings, or are missing; and the button that runs the kernel, which is disabled without a
/// GPU. Returns its left edge.
float draw_badge(const Frame& frame, const Rect& bar);

}  // namespace attnscope::app
