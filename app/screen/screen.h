/// The screen: the bars, the panels in their places, and the overlays.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/app.h"
#include "app/jobs/background_job.h"
#include "app/jobs/run_comparison.h"
#include "app/platform/imgui_session.h"
#include "app/screen/guide_reader.h"
#include "app/screen/lesson_view.h"
#include "app/screen/run_field_boxes.h"
#include "app/screen/walk.h"
#include "app/screen/widgets.h"
#include "kernels/knobs.h"

namespace attnscope::app {

/// The bar of choices: scene, algorithm, problem, tiling, GPU; and the source of the numbers.
class TopBar {
 public:
  /// The chosen run's bar, or the one of a race's rival, which has neither scene nor race.
  explicit TopBar(EditedRun edits = EditedRun::chosen) : edits_(edits), boxes_(edits) {}
  void draw(const Frame& frame, const Rect& rect);
  /// Whether an open list is still being computed.
  bool busy() const { return boxes_.busy(); }

  /// One labelled box: a field of the run, a switch, the scene, or a race.
  struct Field {
    std::string_view key;  ///< key of refusals and of named rectangles
    float width = 0.0f;    ///< of the box, in design units that go with text
    int priority = 0;      ///< the highest are removed first when the bar is too narrow
    const kernels::Knob* knob = nullptr;  ///< not null: a switch of the kernel
  };

 private:
  /// The field's box, and its label from `x` on.
  void draw_field(const Frame& frame, float x, const Rect& box, const Field& field);
  void draw_fields(const Frame& frame, const Rect& rect);
  void draw_more(const Frame& frame, const Rect& button, const std::vector<Field>& hidden);
  /// The error of a rejected choice of a field behind the "more" button, below those fields.
  void draw_refusal_inside(const Frame& frame, float width);

  EditedRun edits_;
  RunFieldBoxes boxes_;
};

/// The badge at the right of the bar (app/screen/badge.cpp): whether the real numbers come from
/// this machine's GPU, from recordings, or are missing; and the button that runs the kernel, which
/// is disabled without a GPU. Returns its left edge.
float draw_badge(const Frame& frame, const Rect& bar);

/// The line under a field of the bar whose choice was rejected, with the nearest valid one to
/// click.
void draw_refusal(const Frame& frame);

/// The dialog that opens files and saves scenes: Ctrl+O and Ctrl+S, or the end of the list of
/// scenes. It lists recent files, the shipped scenes and a folder.
class SceneDialog {
 public:
  /// Opens on its keys or when the view requests it, and draws itself while open.
  void draw(const Frame& frame);

 private:
  void begin(const Frame& frame, bool saving);
  void draw_contents(const Frame& frame);
  void draw_answer(const Frame& frame);
  void draw_lists(const Frame& frame);
  void draw_folder(const Frame& frame);
  void set_path(std::string_view path);
  /// Opens or saves, and waits for the app's result.
  void ask(const Frame& frame, const Command& command);

  bool saving_ = false;
  bool waiting_ = false;               ///< for the app's result
  std::optional<SceneAnswer> answer_;  ///< why the last path could not be opened or saved
  std::array<char, 512> path_{};
};

/// The entry "i, j" that moves the playhead to the first operation of a tile of the scores: key G
/// (go_to_tile.cpp).
class GoToTile {
 public:
  void draw(const Frame& frame);

 private:
  void draw_contents(const Frame& frame, const RunInfo& run);

  std::string error_;
  std::array<char, 32> text_{};
};

/// The context menu of a panel (right mouse button): enlarge it, save its picture, or copy the
/// command that prints the run's numbers (panel_menu.cpp). Named rectangles: "panel_menu.enlarge"
/// and so on.
void draw_panel_menu(const Frame& frame, const Panel& panel, const Rect& rect, bool of_rival);

/// The first operation of the tile that is typed as "i, j": two numbers with a comma or a blank
/// between them. Invalid, in one line, when it is no tile of the run or the mask hides all of it.
Result<Index> first_step_of_tile(const RunInfo& run, std::string_view typed);

/// The box of the top bar: the shipped scenes, and entries that open the dialog.
void draw_scene_field(const Frame& frame, const Rect& box);

// Two runs racing: each with its memory, its scores and its progress (race_view.cpp).

/// Where one racer's parts are; presenter mode has only its memory and its scores.
struct RaceSide {
  Rect head;
  std::map<Slot, Rect> panels;
  std::optional<Rect> totals;
};

struct RaceLayout {
  Rect bar;  ///< of the rival's fields and the verdict
  std::vector<RaceSide> sides;
};
/// The bar, and the cards of both side by side below it, within `body`.
RaceLayout lay_out_race(const Frame& frame, const Rect& body);

/// Bytes and operations of one racer so far, beside those of its whole pass.
void draw_race_totals(const Frame& frame, const Rect& rect, const Snapshot& snapshot);

/// Name, progress and totals of one racer; `rival` selects which.
void draw_race_head(const Frame& frame, const Rect& rect, const Snapshot& snapshot, bool rival);

/// The line of a race's rival above both: its fields to edit, and the verdict at its right end;
/// in presenter mode the verdict alone. Named rectangle: "race.verdict".
void draw_race_bar(const Frame& frame, const Rect& rect, TopBar& rival_fields);
/// "59,392 / 20,736 bytes = 2.9x" of the bytes that both runs request in the shown head; which of
/// them requests more.
std::string race_verdict(const RunInfo& chosen, const RunInfo& rival);

/// The button that pins the choice, and while one is pinned the card that compares it with the
/// present choice (run_comparison_card.cpp).
class RunComparisonCard {
 public:
  /// Draws the button with its right edge at `right`.
  void draw_button(const Frame& frame, const Rect& bar, float right);
  static float button_width(const Frame& frame);
  void draw(const Frame& frame);
  bool busy() const { return job_.busy(); }

 private:
  bool open_ = false;
  BackgroundJob<std::pair<RunSpec, RunSpec>, RunComparison> job_;
};

/// The boxes that start a race against another algorithm, and choose its clock.
void draw_race_field(const Frame& frame, const Rect& box);
void draw_race_clock_field(const Frame& frame, const Rect& box);

// All of it.

class Screen {
 public:
  /// `rival_panels` are those of the second run in a race.
  explicit Screen(Panels panels, Panels rival_panels = {})
      : panels_(std::move(panels)), rival_panels_(std::move(rival_panels)) {}

  /// Draws a frame of Dear ImGui, between NewFrame and Render.
  void draw(App& app, const Fonts& fonts, const Scales& scales, double time_s);

  /// Draws the shown panel of a slot over the whole window, without bars, tabs and buttons, for
  /// a picture. Returns the opaque surface behind it; what draw() left stays as it is.
  std::vector<Surface> draw_alone(App& app, const Fonts& fonts, const Scales& scales, double time_s,
                                  Slot slot, bool of_rival = false);

  /// Whether the next frame may differ: a panel has background work in progress, or the mouse
  /// points at another thing.
  bool busy() const;
  /// The rectangles of the widgets of the last frame.
  const NamedRects& rects() const { return rects_; }
  const KeyboardFocus& focus() const { return focus_; }
  /// The opaque surfaces behind them: bars and cards.
  const std::vector<Surface>& surfaces() const { return surfaces_; }

 private:
  void lay_surfaces(const Frame& frame, const Layout& layout);
  void draw_panels(const Frame& frame, const Panels& panels, const std::map<Slot, Rect>& places,
                   const Snapshot& snapshot, NamedRects& rects);
  void draw_race(const Frame& frame, const RaceLayout& race);
  void draw_lesson_panels(const Frame& frame, const Panels& panels, std::map<Slot, Rect> places,
                          const Snapshot& snapshot, NamedRects& rects);
  void draw_lesson(const Frame& frame, const Snapshot& snapshot, const LessonLayout& layout);
  /// Where the cards are when one or two runs fill the screen.
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
  std::set<std::string_view> shown_;  ///< panels of the last frame, by name
  bool pointed_changes_ = false;
};

/// Turns key presses into commands and view changes; while text is typed or a list is open,
/// only Ctrl+Q.
void handle_keys(App& app);

/// Every key, and what it does.
std::span<const std::pair<const char*, const char*>> key_help();

/// The card with every key, over the screen. A click, F1 or Escape closes it.
void draw_keys_overlay(const Frame& frame);

/// The fixed bar at the bottom: steps, playing, speed, and the whole run as a line.
void draw_transport_bar(const Frame& frame, const Rect& rect);

/// Faster (direction 1) or slower (-1), in powers of two.
double next_speed(double speed, int direction);

}  // namespace attnscope::app
