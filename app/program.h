/// The two ways to run the app, in a window or into a picture, and what both print.
#pragma once

#include "app/app.h"
#include "app/arguments.h"

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

}  // namespace attnscope::app
