/// Requests of a panel or a key to the app. The app executes commands between two frames,
/// so that a panel never changes what another panel of the same frame still draws.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "app/view_state.h"
#include "reference/result.h"

namespace attnscope::app {

/// Moves the playhead to a step; clamped to the run.
struct SeekTo {
  Index step = 0;
};
struct SeekToEnd {};
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
/// Shows a text that cannot be understood at its field; the last valid choice stays.
struct RefuseText {
  Error error;
};
/// Runs the corresponding kernel on this machine's GPU, in the background.
struct RunOnGpu {};
/// Ends a run whose kernels are being compiled.
struct CancelGpuRun {};
/// Cancels the running simulation; the last result stays.
struct CancelWork {};
struct CopyText {
  std::string text;
  std::string what;  ///< named in the notice, such as "the ledger as CSV"
};
/// Saves a rectangle of the next frame, in pixels, as a PNG file in the current folder.
struct SavePicture {
  ImVec4 rect;  ///< x0, y0, x1, y1
  std::string stem;
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
/// Lists the scenes of the current folder again.
struct ListScenes {};
struct SaveScene {
  std::string path;
};
/// A line of text that fades out at the bottom of the screen.
struct ShowNotice {
  std::string text;
};

struct Quit {};

using Command = std::variant<SeekTo, SeekToEnd, StepBy, TogglePlay, Choose, RefuseText, RunOnGpu,
                             CancelGpuRun, CancelWork, CopyText, SavePicture, SeekTick, ChooseRace,
                             OpenScene, SaveScene, ListScenes, ShowNotice, Quit>;

/// Collects the commands of one frame.
class CommandSink {
 public:
  void push(Command command) { commands_.push_back(std::move(command)); }
  std::vector<Command> take() { return std::exchange(commands_, {}); }

 private:
  std::vector<Command> commands_;
};

}  // namespace attnscope::app
