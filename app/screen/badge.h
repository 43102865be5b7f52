/// The badge at the top right: whether the real numbers come from this machine's GPU, from
/// recordings, or are missing.
#pragma once

#include "app/ui/frame.h"

namespace attnscope::app {

/// Draws the badge (and, with a GPU, the button that runs the kernel) right-aligned in the bar;
/// answers where it begins.
float draw_badge(const Frame& frame, const Rect& bar);

}  // namespace attnscope::app
