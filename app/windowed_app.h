/// The app in its window, frame by frame. The program and its benchmark (tests/bench/ui_bench.cpp)
/// run it.
#pragma once

#include <cstdint>
#include <functional>

#include "app/app.h"
#include "app/platform/imgui_session.h"
#include "app/platform/window.h"
#include "app/screen/screen.h"

namespace attnscope::app {

/// Seconds on the steady clock.
double steady_now_s();

/// Seconds that the drawing thread spends on one frame.
struct UiTime {
  double cpu_s = 0.0;   ///< including the events handled before the frame
  double wall_s = 0.0;  ///< from the frame's start; includes time in which the thread did not run
};

/// Which pictures are rasterised and presented: all, or those that the window does not show yet.
enum class Redraw : std::uint8_t { always, if_new };

/// Everything that lives as long as the window.
class WindowedApp {
 public:
  WindowedApp(Window& window, Scene scene);
  ~WindowedApp();
  WindowedApp(const WindowedApp&) = delete;
  WindowedApp& operator=(const WindowedApp&) = delete;

  /// Updates the app, then draws, rasterises and presents its screen. Returns whether the picture
  /// is a new one.
  bool draw_frame(Redraw redraw);
  /// Like draw_frame(), but without rasterising and presenting. `put_input` runs before
  /// ImGui::NewFrame().
  bool build_frame(const std::function<void()>& put_input = {});

  App& app() { return app_; }
  const App& app() const { return app_; }
  const Screen& screen() const { return screen_; }
  /// Whether the user has closed the window or quit.
  bool closed() const { return app_.wants_to_quit(); }
  /// Whether nothing is being computed for the screen.
  bool settled() const { return app_.settled() && !screen_.busy(); }
  int frames_drawn() const { return frames_drawn_; }
  /// The time of the last frame, without rasterising and presenting it.
  UiTime ui_time() const { return ui_time_; }

 private:
  Scales scales(bool presenter) const;
  void save_pictures();
  void save_picture(const PanelPicture& picture);

  Window& window_;
  ImGuiSession session_;
  App app_;
  Screen screen_;
  double cpu_began_s_ = 0.0;
  UiTime ui_time_;
  int frames_drawn_ = 0;
};

}  // namespace attnscope::app
