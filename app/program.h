/// The two ways to run the app: in a window, or into a picture. Each answers the exit status.
#pragma once

#include "app/arguments.h"
#include "app/scene.h"

namespace attnscope::app {

/// Exit statuses of both programs.
inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kInvalidRequest = 2;

/// One line on standard error; the exit status that belongs to the error.
int report(const Error& error);

/// Opens the window and runs until it is closed. `start_s` is when the program began, on the
/// steady clock.
int run_window(const Arguments& arguments, Scene scene, double start_s);

/// Draws the scene at the wanted step into arguments.out.
int run_render(const Arguments& arguments, Scene scene);

/// Seconds on the steady clock.
double steady_now_s();

/// CPU seconds that the calling thread has used.
double thread_cpu_s();

}  // namespace attnscope::app
