/// Queries on a snapshot that several panels use: names of tiles, their position and their state.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "app/draw/canvas.h"
#include "app/panels/parts/panel.h"
#include "app/seek/thing.h"
#include "sim/snapshot/snapshot.h"

namespace attnscope::app {

/// The run that a panel's work belongs to. Does not keep the run alive: the panel may be hidden.
struct RunOfWork {
  std::weak_ptr<const RunInfo> run;
  bool operator==(const RunOfWork& other) const {
    return !run.owner_before(other.run) && !other.run.owner_before(run);
  }
};

/// The launch of the snapshot's operation.
const Launch& launch_of(const Snapshot& snapshot);

/// The tensor's colour, which a corresponding tensor may share: flash1's m~, l~ and beta have the
/// colours of m, l and alpha.
ImU32 color_of(const Theme& theme, Tensor tensor);
ImU32 text_color_of(const Theme& theme, Tensor tensor);

/// Whether the tensor is a gradient: drawn in a lighter shade of its tensor's hue, hatched.
bool is_gradient(Tensor tensor);
void hatch_gradient(const draw::Canvas& canvas, const Rect& rect);
/// Draws a small box in the tensor's colour, for legends.
void draw_swatch(const draw::Canvas& canvas, const Rect& rect, Tensor tensor);

/// "Q" with its row tile, "S" with both: {"S", "21"}; "2,11" if an index has two digits.
draw::Symbol symbol_of(const Tile& tile);
/// The symbol with letters as indices, for an empty slot: {"K", "j"}.
draw::Symbol empty_symbol_of(Tensor tensor);
/// "m~" for m_tile, "O fp32" for O_carry, "dQ fp32" for dQ_accum.
std::string_view display_name(Tensor tensor);

/// The elements covered by an operation's tile, or by a slot's tile in the current launch.
Area area_of(const Snapshot& snapshot, const Tile& tile);

/// The part of `whole`, a rectangle filled by a matrix of this shape, that the elements cover.
Rect part_of(const Rect& whole, const Shape& shape, const Area& part);

/// The tensor's slot; of several, the slot of the agent that ran last, else the slot with the
/// current tile, else the first slot. nullptr if there is none.
const SlotState* find_slot(const Snapshot& snapshot, Tensor tensor);

/// The state of a tile of scores.
enum class TileState : std::uint8_t { untouched, skipped, left_out, in_sram, discarded, stored };
constexpr std::array<std::string_view, 6> enum_names(TileState) {
  return {"not yet computed",
          "skipped: the mask hides all of it",
          "left out: 0 in the block mask",
          "on chip now",
          "done and discarded",
          "stored in global memory"};
}
/// The state of tile (i, j) on the plain grid.
TileState score_tile_state(const Snapshot& snapshot, Index i, Index j);

/// Whether the algorithm keeps S and P in HBM.
bool stores_scores(const Snapshot& snapshot);

/// Shows a tooltip in the panel's fonts beside the rectangle that it explains; lines are separated
/// by '\n'. The second form shows it beside the pointer, such as for a point of a chart.
void tooltip(const PanelContext& context, std::string_view text, const Rect& about);
void tooltip(const PanelContext& context, std::string_view text);
/// Whether the mouse is over this rectangle and over this panel.
bool hovered(const Rect& rect);
/// Whether the right mouse button was clicked in this panel, which opens the menu of the thing
/// there and closes any other menu.
bool asks_for_menu();

// The thing under the mouse.

/// Notes that the mouse is over the thing: in the next frame, other panels highlight what belongs
/// to it. A click moves the playhead to its next operation, Shift-click to the previous one.
void point_at_thing(const Snapshot& snapshot, ViewState& view, const PanelContext& context,
                    const Thing& thing);
/// The last line of a tooltip of such a thing.
inline constexpr std::string_view kClickHelp =
    "\nclick: to its next operation; Shift-click: to the previous one";

/// The parts of tensors that belong to the thing under the mouse; nothing if there is no such
/// thing.
std::optional<Highlight> pointed_highlight(const Snapshot& snapshot, const ViewState& view);
/// Marks what belongs to the thing under the mouse; the mark is at least a few pixels wide. Over
/// values it is only an outline, so that their colours remain visible.
enum class PointedOver : std::uint8_t { text, values };
void draw_pointed(const draw::Canvas& canvas, Rect rect, PointedOver over = PointedOver::text);

/// Whether this tile of the tensor has its values.
bool is_written(const HbmTensorState& tensor, Index tile_row, Index tile_col);
/// Share of the tiles in [row, past_row) x [col, past_col) that have their values.
float written_share(const HbmTensorState& tensor, Index row, Index past_row, Index col,
                    Index past_col);

}  // namespace attnscope::app
