/// The whole screen without a window: the app, its panels, the mouse and the keyboard.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/app.h"
#include "app/panels/panels.h"
#include "app/platform/keys.h"
#include "app/screen/screen.h"
#include "tests/app/panels/headless_imgui.h"

namespace attnscope::test {

class ScreenSession {
 public:
  /// Opens the scene at 1600 x 900 pixels and draws frames until it is shown.
  explicit ScreenSession(const std::string& scene = "default");
  /// Opens a step, counted from 1, of a lesson's file.
  void open_lesson(const std::string& file, std::size_t step);

  /// Changes the size of the window from the next frame on, in pixels.
  void resize(float width, float height);

  /// Draws one frame, without waiting for anything.
  void frame() { frame(now_s_); }
  /// Draws one frame at this time on the clock of the app.
  void frame(double now_s);
  /// Draws frames until the app rests, then two more.
  void settle();

  /// Lets this time pass on the clock of the screen.
  void advance(double seconds);
  /// Lets this time pass on the clocks of the app and of the screen, with one frame every
  /// `frame_s`, without waiting for anything.
  void run(double seconds, double frame_s = 0.05);

  /// Clicks the widget and draws the frames of the click, without waiting for what it starts.
  void press(std::string_view widget);

  // Actions of a user; each draws frames until the app rests
  void click(std::string_view widget);
  void right_click(ImVec2 at);
  void move_mouse(ImVec2 to) { imgui_.set_mouse(to); }
  /// Presses the mouse at the first position, moves it to each of the others, one per frame, and
  /// releases it.
  void drag(std::span<const ImVec2> way);
  /// Moves the mouse there, and draws the frames that a tooltip needs.
  void point_at(ImVec2 at);
  void key(app::Key key, bool with_shift = false, bool with_ctrl = false);
  /// Presses or releases a key, from the next frame on.
  void hold(app::Key key, bool down);
  /// Replaces the text of the box that is being edited.
  void type(std::string_view text);

  /// The letters of the last frame.
  std::vector<app::Rect> letters() const { return imgui_.letters(); }
  /// The colour of the last opaque shape of the last frame at a position; 0 if there is none.
  ImU32 color_at(ImVec2 at) const { return imgui_.color_at(at); }

  /// Whether this is the first call with these words.
  bool is_new(const std::string& words) { return known_.insert(words).second; }

  /// Whether a panel is still computing something that it will show.
  bool busy() const { return screen_.busy(); }

  app::App& app() { return app_; }
  const app::NamedRects& rects() const { return screen_.rects(); }
  /// Whether Tab has reached the widget.
  bool focused(std::string_view widget) const { return screen_.focus().focused() == widget; }

 private:
  HeadlessImGui imgui_{1600, 900};
  double now_s_ = 1e-9;  ///< time on the clock of the app
  double time_s_ = 0.0;  ///< time on the clock of the screen
  std::set<std::string> known_;
  ImVec2 size_{1600, 900};
  app::App app_;
  app::Screen screen_{app::make_panels(), app::make_panels()};
};

}  // namespace attnscope::test
