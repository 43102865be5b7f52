/// What a test needs to know to click and to check: rectangles of widgets, and the state.
#pragma once

#include <string>

#include "app/app.h"
#include "app/ui/named_rects.h"

namespace attnscope::app {

/// JSON (schema "attnscope.ui/1"): "window" {width, height}, "state", and "rects", each
/// [x0, y0, x1, y1] in pixels of the window.
std::string ui_as_json(const App& app, const NamedRects& rects, int width, int height);

}  // namespace attnscope::app
