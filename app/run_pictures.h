/// The kinds of pictures that `attnscope render` makes (app/run_render.cpp).
#pragma once

#include "app/arguments.h"

namespace attnscope::app {

/// Nothing when the file can be written, and replaces neither the scene nor a file that the scene's
/// run reads. Leaves no file behind. `option` names it in the message.
std::optional<Error> check_writable(std::string_view option, const std::string& path,
                                    const Scene& scene);

/// One picture of each step of the lesson, before and after its question is answered, in the folder
/// arguments.out, which is made where it does not exist: "NAME-1-asked.png", "NAME-1-shown.png".
/// Progress is neither read nor kept.
std::optional<Error> render_lesson(const Arguments& arguments, Scene scene);

/// The operations from arguments.step to arguments.last_step as an animation: a GIF, an MP4 by
/// ffmpeg, or both. unavailable where ffmpeg is not installed.
std::optional<Error> render_animation(const Arguments& arguments, Scene scene);

}  // namespace attnscope::app
