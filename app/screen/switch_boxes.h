/// The boxes of the kernel's switches (kernels/knobs.h).
#pragma once

#include "app/ui/widgets.h"
#include "kernels/knobs.h"

namespace attnscope::app {

/// A list of the switch's values, with the one in the shown choice.
void draw_switch_box(const Frame& frame, const Rect& box, const kernels::Knob& knob);

}  // namespace attnscope::app
