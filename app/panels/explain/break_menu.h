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
  /// Chooses the items for a line of a launch's pseudo-code.
  void choose_line(const RunInfo& run, std::size_t launch, std::size_t line);
  /// Removes the items, after a click elsewhere in the panel.
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

/// The notice above the code: what is broken, buttons that move to the first wrong operation and
/// the first wrong store, and one that restores the run. Its height is 0 if nothing is broken;
/// drawing it returns the room below. Named rectangles: "broken.operation", "broken.store",
/// "broken.restore".
float break_notice_height(const Snapshot& snapshot, const ViewState& view,
                          const PanelContext& context, float width);
Rect draw_break_notice(const Snapshot& snapshot, const ViewState& view, const PanelContext& context,
                       const Rect& rect);

}  // namespace attnscope::app
