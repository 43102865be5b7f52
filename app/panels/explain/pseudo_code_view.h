/// The pseudo-code of a launch as it is drawn: lines broken to the panel's width, marked and, in a
/// broken run, struck out.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "app/panels/explain/broken_code.h"
#include "app/panels/parts/panel.h"

namespace attnscope::app {

/// The pseudo-code and the marks of its lines.
struct MarkedCode {
  std::span<const PseudoLine> lines;
  std::span<const ShownLine> shown;  ///< one for each line
  int lit = -1;                      ///< the line of the last operation; -1: none
  ImU32 color = 0;
  std::vector<bool> pointed = {};  ///< which lines have an operation on the thing under the mouse
  std::vector<std::string> agents = {};  ///< which agents execute each line; "" for every warp
};

/// The height in pixels that the whole code needs at this width.
float least_height(const PanelContext& canvas, float width, const MarkedCode& code);

/// Draws the lines into `rect`; long ones continue on the next line; if not all fit, the part
/// around the highlighted line is shown. Returns the line under the mouse, or -1. Named rectangles:
/// "explain.line.INDEX", "explain.more.above", "explain.more.below".
int draw_pseudo_code(const PanelContext& canvas, const Rect& rect, const MarkedCode& code);

}  // namespace attnscope::app
