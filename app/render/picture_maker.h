/// Draws pictures of the app without a window.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/app.h"
#include "app/panels/panels.h"
#include "app/platform/imgui_session.h"
#include "app/platform/offscreen.h"
#include "app/screen/screen.h"
#include "app/ui/drawn_texts.h"

namespace attnscope::app {

/// Runs the app without a window until it has a snapshot and the GPU is known or missing.
std::optional<Error> settle(App& app);

/// Draws one app after another, or the same one in several states, into pictures of the same size.
class PictureMaker {
 public:
  /// Errors as in OffscreenContext::create().
  static Result<std::unique_ptr<PictureMaker>> create(int width, int height);

  /// Draws the screen, or one panel alone, after everything on it is computed and laid out.
  Result<Image> draw(App& app, std::optional<Slot> panel = {});
  /// Draws a panel alone as an SVG document.
  Result<std::string> draw_svg(App& app, Slot panel);
  /// Draws the screen again, if only the playhead has moved since the last picture.
  Result<Image> draw_moved(App& app);

 private:
  explicit PictureMaker(std::unique_ptr<OffscreenContext> surface, int width, int height)
      : surface_(std::move(surface)), width_(width), height_(height) {}
  /// `recorder` keeps the text of the last frame, which is then drawn without smooth edges.
  std::optional<Error> draw_frames(App& app, int least, std::optional<Slot> panel,
                                   TextRecorder* recorder);

  std::unique_ptr<OffscreenContext> surface_;
  ImGuiSession session_;  // on the surface's context
  Screen screen_{make_panels(), make_panels()};
  std::vector<Surface> surfaces_;  ///< the surfaces of the last frame
  int width_, height_;
};

}  // namespace attnscope::app
