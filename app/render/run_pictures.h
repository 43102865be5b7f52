/// Special pictures of `attnscope render` (run_render.cpp): animations (render_animation.cpp) and
/// lessons (render_lesson.cpp).
#pragma once

#include "app/arguments.h"

namespace attnscope::app {

/// Nothing if the file can be written and would replace neither the scene nor a file that the
/// scene's run reads. Leaves no file behind. The message names the file by `option`.
std::optional<Error> check_writable(std::string_view option, const std::string& path,
                                    const Scene& scene);

/// Draws each step of the lesson before and after its question is answered, into the folder
/// arguments.out, which is created if it does not exist: "NAME-1-asked.png", "NAME-1-shown.png".
/// Progress is neither read nor saved.
std::optional<Error> render_lesson(const Arguments& arguments, Scene scene);

/// Writes the operations from arguments.step to arguments.last_step as an animation: a GIF, an MP4
/// through ffmpeg, or both. unavailable if an MP4 is requested and ffmpeg is not installed.
std::optional<Error> render_animation(const Arguments& arguments, Scene scene);

}  // namespace attnscope::app
