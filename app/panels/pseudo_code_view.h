/// Pseudo-code of a launch with one line lit.
#pragma once

#include <span>

#include "app/draw/canvas.h"
#include "app/panel.h"
#include "sim/schedule/algorithm.h"

namespace attnscope::app {

/// Draws the lines into `rect`; long ones continue below, and when all of them are too many the
/// part around the lit line is shown. `lit` is -1 for none; `color` is that of the lit line's box.
void draw_pseudo_code(const draw::Canvas& canvas, const Rect& rect,
                      std::span<const PseudoLine> lines, int lit, ImU32 color);

}  // namespace attnscope::app
