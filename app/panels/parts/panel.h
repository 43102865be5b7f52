/// A panel: one drawing function, one folder in app/panels/, one line in app/panels/panels.h.
///
/// A panel draws from an immutable snapshot and the view state, into the rectangle that the screen
/// gives it. It holds no lock, starts no work and never waits: it pushes requests as Commands. It
/// may write selections that concern only the picture (a tab, the chosen row) to the view state
/// directly.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "app/draw/canvas.h"
#include "app/jobs/measurements.h"
#include "app/scene/view_state.h"
#include "app/seek/find_operation.h"
#include "reference/result.h"

namespace attnscope::app {

// Requests from a panel or a key to the app. The app executes commands between two frames, so that
// a panel never changes what another panel of the same frame still draws.

/// Moves the playhead to a step; clamped to the run.
struct SeekTo {
  Index step = 0;
};
struct SeekToEnd {};
/// Moves the playhead of a run to the next or the previous operation that touches the thing.
struct SeekThing {
  std::shared_ptr<const RunInfo> run;
  Thing thing;
  SeekDirection direction = SeekDirection::later;
};
/// Moves the playhead by `count` operations, tiles or iterations of the outer loop; negative values
/// go back.
struct StepBy {
  Granularity granularity = Granularity::op;
  int count = 1;
};
struct TogglePlay {};
/// Requests another problem, algorithm, tiling or device; rejected choices change nothing.
struct Choose {
  RunSpec choice;
};
/// Shows, at the field, why its text was rejected; the last valid choice is kept.
struct RefuseText {
  Error error;
};
/// Runs the corresponding kernel on this machine's GPU, in the background.
struct RunOnGpu {};
/// Cancels a run whose kernels are still being compiled.
struct CancelGpuRun {};
/// Cancels the running simulation; the last result is kept.
struct CancelWork {};
struct CopyText {
  std::string text;
  std::string what;  ///< named in the notice, such as "the ledger as CSV"
};
/// A picture of one panel, without tabs and buttons.
struct PanelPicture {
  Slot slot = Slot::charts;
  bool of_rival = false;      ///< of a race's second run
  std::string path;           ///< ends in ".svg" for a vector graphic; otherwise a PNG
  int width = 0, height = 0;  ///< in pixels
  ThemeName theme = ThemeName::dark;
};
struct TextFile {
  std::string path, text;
};
using FileToSave = std::variant<PanelPicture, TextFile>;
/// Asks where to save the file, proposing its path; for a picture, also asks for its size and
/// theme.
struct AskToSave {
  FileToSave file;
};
/// Saves the file. An existing one is only replaced if `replaces`.
struct SaveFile {
  FileToSave file;
  bool replaces = false;
};
/// Moves the clock of a race.
struct SeekTick {
  Index tick = 0;
};
/// Starts a race, changes it, or ends it.
struct ChooseRace {
  std::optional<Race> race;
};
struct OpenScene {
  std::string name_or_path;
};
/// Opens files chosen in a dialog or dropped on the window: scenes, recordings, Q, K, V as .npy.
struct OpenFiles {
  std::vector<std::string> paths;
};
/// Lists the files in this folder that can be opened; empty: the current folder.
struct ListFolder {
  std::string path;
};
/// Saves the scene under this name. An existing file is only replaced if `replaces`.
struct SaveScene {
  std::string path;
  bool replaces = false;
};
/// A line of text that fades out at the bottom of the screen.
struct ShowNotice {
  std::string text;
};

/// Undoes the last choice, or redoes the one that was undone.
struct Undo {};
struct Redo {};

struct Quit {};

using Command =
    std::variant<SeekTo, SeekToEnd, SeekThing, StepBy, TogglePlay, Choose, RefuseText, RunOnGpu,
                 CancelGpuRun, CancelWork, CopyText, AskToSave, SaveFile, SeekTick, ChooseRace,
                 OpenScene, OpenFiles, SaveScene, ListFolder, ShowNotice, Undo, Redo, Quit>;

/// Collects the commands of one frame.
class CommandSink {
 public:
  void push(Command command) { commands_.push_back(std::move(command)); }
  std::vector<Command> take() { return std::exchange(commands_, {}); }

 private:
  std::vector<Command> commands_;
};

// Panels.

/// The context in which a panel draws.
struct PanelContext : draw::Canvas {
  Rect rect;  ///< where to draw, in pixels; the card and its border are already there
  CommandSink& commands;
  const Measurements& measurements;
  NamedRects& named_rects;
  /// The progress of the animation of the operation under the playhead, 0 to 1; 0 when paused.
  float op_fraction = 0.0f;
  bool presenter = false;
  /// Adds a button to the Tab order; returns whether Enter presses it. May be empty.
  std::function<bool(std::string_view name, const Rect& rect)> visit = {};
  bool alone = false;  ///< true for a picture of this panel alone: without tabs and buttons

  bool pressed_by_key(std::string_view name, const Rect& button) const {
    return visit && visit(name, button);
  }
};

/// Draws an item of a menu under its name; returns whether it is chosen.
using DrawMenuItem = std::function<bool(const std::string& name, const std::string& label)>;

struct Panel {
  /// A unique, stable name in snake_case, which prefixes its named rectangles, such as "memory".
  std::string_view name;
  std::string_view title;  ///< the heading when there is no run
  Slot slot;
  /// Draws one frame of a snapshot that has a run. It is called inside an ImGui child window that
  /// covers `context.rect` and clips to it, with the cursor at its upper left corner: ImGui widgets
  /// and the window's draw list both work.
  std::function<void(const Snapshot& snapshot, ViewState& view, const PanelContext& context)>
      draw_run;
  /// Whether the panel is shown: not while another panel of its slot is chosen.
  std::function<bool(const ViewState&)> shown = [](const ViewState&) { return true; };
  /// Whether the panel has background work in progress, which will change the picture.
  std::function<bool()> busy = [] { return false; };

  /// Draws the menu items for the thing that was right-clicked in the panel, above the items that
  /// every panel has; may be empty.
  std::function<void(const ViewState& view, CommandSink& commands, const DrawMenuItem& item)>
      draw_menu_items = {};

  /// Draws the run, or the title and why there is none (headings.cpp).
  void draw(const Snapshot& snapshot, ViewState& view, const PanelContext& context) const;
};

using Panels = std::vector<Panel>;

}  // namespace attnscope::app
