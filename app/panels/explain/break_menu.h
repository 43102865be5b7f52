/// Breaks a run from its pseudo-code: the context menu of a line, and the notice above the code of
/// a broken run.
#pragma once

#include <string>
#include <vector>

#include "app/panels/parts/panel.h"
#include "sim/snapshot/snapshot.h"

namespace attnscope::app {

/// The items in the panel's menu of a line of pseudo-code (right mouse button), which drop one of
/// the line's operations or restore the run. Names: "break.OPERATION", "break.restore".
class BreakMenu {
 public:
  /// The items of a line of the pseudo-code of a launch.
  void choose_line(const RunInfo& run, std::size_t launch, std::size_t line);
  /// No items: the panel was clicked elsewhere.
  void clear() { items_.clear(); }
  void draw_items(const ViewState& view, CommandSink& commands, const DrawMenuItem& item) const;

 private:
  struct Item {
    std::string name;  ///< name of the operation, such as "rescale:O"
    std::string label;
    RunBreak broken;
  };
  std::vector<Item> items_;
};

/// Draws the notice above the code: what is broken, buttons that move to the first wrong operation
/// and the first wrong store, and one that restores the run. Returns the room below it; `rect` if
/// nothing is broken. Named rectangles: "broken.operation", "broken.store", "broken.restore".
Rect draw_break_notice(const Snapshot& snapshot, const ViewState& view, const PanelContext& context,
                       const Rect& rect);

/// The part of a line of pseudo-code that the break drops.
struct DroppedLine {
  bool whole = false;
  std::string part;  ///< "rescale O dropped"; empty if nothing or the whole line is dropped
};
DroppedLine dropped_line(const Snapshot& snapshot, std::size_t launch, std::size_t line);

}  // namespace attnscope::app
