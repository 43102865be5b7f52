/// The screen: the bars, the panels in their places, and the overlays.
#pragma once

#include "app/platform/imgui_session.h"
#include "app/screen/race_view.h"
#include "app/screen/scene_dialog.h"
#include "app/screen/top_bar.h"

namespace attnscope::app {

class App;

class Screen {
 public:
  /// `rival_panels` are those of the second algorithm in a race.
  explicit Screen(Panels panels, Panels rival_panels = {})
      : panels_(std::move(panels)), rival_panels_(std::move(rival_panels)) {}

  /// Draws a frame of Dear ImGui, between NewFrame and Render.
  void draw(App& app, const Fonts& fonts, const Scales& scales, double time_s);

  /// Whether a panel has background work in progress, so that its next frame may differ.
  bool busy() const;
  /// The rectangles of the widgets of the last frame.
  const NamedRects& rects() const { return rects_; }
  /// The opaque surfaces behind them: bars and cards.
  const std::vector<Surface>& surfaces() const { return surfaces_; }

 private:
  void lay_surfaces(const Frame& frame, const Layout& layout);
  void draw_panels(const Frame& frame, const Panels& panels, const std::map<Slot, Rect>& places,
                   const Snapshot& snapshot, NamedRects& rects);
  void draw_race(const Frame& frame, const std::vector<RaceSide>& sides);

  Panels panels_;
  Panels rival_panels_;
  TopBar top_bar_;
  SceneDialog scene_dialog_;
  NamedRects rects_;
  std::vector<Surface> surfaces_;
  std::set<Slot> shown_;  ///< panels of the last frame
};

/// Turns key presses into commands and view changes; while text is typed or a list is open,
/// only Ctrl+Q.
void handle_keys(App& app);

/// The card with every key, over the screen. A click, F1 or Escape closes it.
void draw_keys_overlay(const Frame& frame);

/// The fixed bar at the bottom: steps, playing, speed, and the whole run as a line.
void draw_transport_bar(const Frame& frame, const Rect& rect);

/// Faster (direction 1) or slower (-1), in powers of two.
double next_speed(double speed, int direction);

}  // namespace attnscope::app
