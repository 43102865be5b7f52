/// The two ways to run the app, in a window or into a picture, and what both print.
#pragma once

#include "app/app.h"
#include "app/arguments.h"
#include "app/ui/named_rects.h"

namespace attnscope::app {

/// Exit statuses of both programs.
inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kInvalidRequest = 2;

/// Prints one line on standard error; returns the error's exit status.
int report(const Error& error);

/// Opens the window and runs until it is closed; returns the exit status.
int run_window(const Arguments& arguments, Scene scene);

/// Draws the scene at the requested step into arguments.out; returns the exit status.
int run_render(const Arguments& arguments, Scene scene);

/// The data that a test needs for clicks and checks, as JSON (schema "attnscope.ui/1"): "window"
/// {width, height}, "state", and "rects", each [x0, y0, x1, y1] in pixels of the window.
std::string ui_as_json(const App& app, const NamedRects& rects, int width, int height);

}  // namespace attnscope::app
