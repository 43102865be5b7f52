/// The whole screen without a window: the app, its panels, the mouse and the keyboard.
#pragma once

#include <string>
#include <string_view>

#include "app/app.h"
#include "app/platform/keys.h"
#include "app/screen/screen.h"
#include "tests/app/panels/headless_imgui.h"

namespace attnscope::test {

class ScreenSession {
 public:
  /// 1600 x 900 pixels, once the scene is shown.
  explicit ScreenSession(const std::string& scene = "default");

  /// One frame, without waiting for anything.
  void frame();
  /// Frames until the app rests, and two more.
  void settle();

  // What a user does, each until the app rests
  void click(std::string_view widget);
  void key(app::Key key, bool with_shift = false, bool with_ctrl = false);
  /// Replaces the text of the box that is being edited.
  void type(std::string_view text);

  app::App& app() { return app_; }
  const app::NamedRects& rects() const { return screen_.rects(); }
  /// Whether Tab has come to the widget.
  bool focused(std::string_view widget) const { return screen_.focus().focused() == widget; }

 private:
  HeadlessImGui imgui_{1600, 900};
  app::App app_;
  app::Screen screen_{app::make_panels(), app::make_panels()};
};

}  // namespace attnscope::test
