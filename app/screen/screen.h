/// The screen: the bars, the panels in their places, and the overlays.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "app/app.h"
#include "app/platform/imgui_session.h"
#include "app/screen/go_to_tile.h"
#include "app/screen/guide_reader.h"
#include "app/screen/lesson_card.h"
#include "app/screen/lesson_view.h"
#include "app/screen/race_view.h"
#include "app/screen/run_comparison_card.h"
#include "app/screen/scene_dialog.h"
#include "app/screen/top_bar.h"
#include "app/screen/walk.h"
#include "app/screen/widgets.h"

namespace attnscope::app {

class Screen {
 public:
  /// `rival_panels` show the second run in a race.
  explicit Screen(Panels panels, Panels rival_panels = {})
      : panels_(std::move(panels)), rival_panels_(std::move(rival_panels)) {}

  /// Draws a frame of Dear ImGui, between NewFrame and Render.
  void draw(App& app, const Fonts& fonts, const Scales& scales, double time_s);

  /// Draws the displayed panel of a slot over the whole window, without bars, tabs and buttons, for
  /// a picture. Returns the opaque surface behind it. Does not change the results of draw(), such
  /// as rects().
  std::vector<Surface> draw_alone(App& app, const Fonts& fonts, const Scales& scales, double time_s,
                                  ThemeName theme_name, Slot slot, bool of_rival = false);

  /// Whether the next frame may differ: a panel has background work in progress, or the mouse
  /// points at something else.
  bool busy() const;
  /// The rectangles of the widgets of the last frame.
  const NamedRects& rects() const { return rects_; }
  const KeyboardFocus& focus() const { return focus_; }
  /// The opaque surfaces behind the widgets: bars and cards.
  const std::vector<Surface>& surfaces() const { return surfaces_; }

 private:
  void lay_surfaces(const Frame& frame, const Layout& layout);
  void draw_top(const Frame& frame, const Rect& rect);
  /// Draws the panels, except the covered ones, which keep their place.
  void draw_panels(const Frame& frame, const Panels& panels, const std::map<Slot, Rect>& places,
                   const Snapshot& snapshot, NamedRects& rects, const std::set<Slot>& covered = {});
  void draw_race(const Frame& frame, const RaceLayout& race);
  void draw_lesson_panels(const Frame& frame, const Panels& panels,
                          const std::map<Slot, Rect>& places, const Snapshot& snapshot,
                          NamedRects& rects);
  void draw_lesson(const Frame& frame, const Snapshot& snapshot, const LessonLayout& layout);
  void note_stale_run(const Frame& frame);
  /// The places of the cards when one or two runs fill the screen.
  Layout layout_of(const Frame& frame, std::optional<RaceLayout>& race) const;

  Panels panels_;
  Panels rival_panels_;
  TopBar top_bar_;
  TopBar rival_bar_{EditedRun::rival};
  RunComparisonCard comparison_;
  SceneDialog scene_dialog_;
  GuideReader guide_reader_;
  WalkCard walk_card_;
  GoToTile go_to_tile_;
  LessonCard lesson_card_;
  LessonList lesson_list_;
  NamedRects rects_;
  KeyboardFocus focus_;
  std::vector<Surface> surfaces_;
  std::set<const Panel*> shown_;  ///< the panels in the last frame
  bool pointed_changes_ = false;
  std::optional<double> stale_since_s_;  ///< while the run on the screen is not the lesson step's
  bool covers_stale_run_ = false;
};

}  // namespace attnscope::app
