/// Breaking a run from its pseudo-code: the menu of a line, and what is shown above the code of a
/// broken run.
#pragma once

#include <string>
#include <vector>

#include "app/panel.h"
#include "sim/snapshot/snapshot.h"

namespace attnscope::app {

/// The menu of a line of pseudo-code, opened with the right mouse button: each of its operations
/// can be dropped, and the run restored. Named rectangles: "break.OPERATION", "break.restore".
class BreakMenu {
 public:
  /// Opens it for a line of a launch of the run.
  void open(const RunInfo& run, std::size_t launch, std::size_t line);
  /// Draws it while it is open.
  void draw(const ViewState& view, const PanelContext& context) const;

 private:
  struct Item {
    std::string name;  ///< of the operation, "rescale:O"
    std::string label;
    RunBreak broken;
  };
  std::vector<Item> items_;
};

/// Says above the code what is broken and where it shows first, with buttons that go there, and one
/// that restores the run. Returns the room below; all of it where nothing is broken. Named
/// rectangles: "broken.operation", "broken.store", "broken.restore".
Rect draw_break_notice(const Snapshot& snapshot, const ViewState& view, const PanelContext& context,
                       const Rect& rect);

/// What the break drops of a line of pseudo-code.
struct DroppedLine {
  bool whole = false;
  std::string part;  ///< "without rescale O"; empty where nothing or everything is dropped
};
DroppedLine dropped_line(const Snapshot& snapshot, std::size_t launch, std::size_t line);

}  // namespace attnscope::app
