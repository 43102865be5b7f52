/// A panel: one class, one file in app/panels/, one line in app/panels/make_panels.cpp.
///
/// A panel draws from an immutable snapshot and the view state, into the rectangle that the screen
/// gives it. It holds no lock, starts no work and never waits: it pushes requests as Commands. It
/// may write selections that only concern the picture (a tab, the chosen row) to the view state
/// directly.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "app/command.h"
#include "app/draw/canvas.h"
#include "app/measurements.h"
#include "app/view_state.h"

namespace attnscope {
struct Snapshot;  // sim/snapshot/snapshot.h
}

namespace attnscope::app {

/// The place of a panel on the screen. The neighbour takes the place of a slot without a panel.
enum class Slot : std::uint8_t {
  memory,          ///< left column: memory, or the warps of the thread block
  scores,          ///< middle column, upper part
  online_softmax,  ///< middle column, lower part; in the same card as `scores`
  explain,         ///< right column, upper part: what and why
  ledger,          ///< right column, lower part
  timeline,        ///< bottom row, left
  charts,          ///< bottom row, right
};

/// The context in which a panel draws.
struct PanelContext : draw::Canvas {
  Rect rect;  ///< where to draw, in pixels; the card and its border are already there
  CommandSink& commands;
  const Measurements& measurements;
  NamedRects& named_rects;
  /// How far the animation of the operation under the playhead has come, 0 to 1; 0 when paused.
  float op_fraction = 0.0f;
  bool presenter = false;
};

class Panel {
 public:
  virtual ~Panel() = default;

  /// Unique and stable, in snake_case: the prefix of its named rectangles, such as "memory".
  virtual std::string_view name() const = 0;
  virtual Slot slot() const = 0;
  /// False while another panel of the same slot is chosen instead.
  virtual bool shown(const ViewState& /*view*/) const { return true; }
  /// Draws one frame. Called inside an ImGui child window that covers `context.rect` and clips to
  /// it, with the cursor at its upper left corner: ImGui widgets and the window's draw list both
  /// work.
  virtual void draw(const Snapshot& snapshot, ViewState& view, const PanelContext& context) = 0;
  /// Whether the panel has background work in progress, which will change the picture.
  virtual bool busy() const { return false; }
};

using Panels = std::vector<std::unique_ptr<Panel>>;

/// Every panel of the app, in drawing order. Defined in app/panels/make_panels.cpp.
Panels make_panels();

/// Draws a panel's heading: title and subtitle at the left, a note at the right (each may be
/// empty). Returns the rest of the rectangle below it, without the card's padding.
Rect draw_panel_header(const PanelContext& context, std::string_view title,
                       std::string_view subtitle, std::string_view note);

}  // namespace attnscope::app
