/// The on-chip memory of one thread block: its slots, their contents, and the use of both memories.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "app/draw/canvas.h"
#include "app/panel.h"
#include "app/panels/snapshot_view.h"
#include "sim/snapshot/snapshot.h"

namespace attnscope::app {

/// Fills `box` with the values of the slot, stronger where |value| is larger, a gradient hatched;
/// dotted where it is invalid. `extent` is that of the tile in the slot: a ragged one fills a part
/// of the box.
void draw_slot_contents(const draw::Canvas& canvas, const SlotState& slot, const Rect& box,
                        const Extent& extent);

/// A slot whose tile the last operation read for the last time: its colour without values, in a
/// dashed outline.
void draw_last_used(const draw::Canvas& canvas, Tensor tensor, const Rect& box);

/// A short name of the operation that fits beside its arcs: "Q Kᵀ", "rowmax", "rescale"; empty for
/// transfers, and where the tiles suffice.
std::string_view operation_label(const TileOp& op);

class SramBox {
 public:
  /// Places the slots within `rect`; nothing is drawn yet.
  SramBox(const Snapshot& snapshot, const PanelContext& context, const Rect& rect);

  void draw() const;
  /// Arcs from the operands of the last operation to its result, above the slots.
  void draw_operation() const;
  void point_at() const;

  /// Where arrows from below end: under the slot's label.
  std::optional<ImVec2> port(const Tile& tile) const;

 private:
  struct Placed {
    const SlotState* slot;
    Rect box;
    Rect cell;  ///< with the label
  };

  /// From top to bottom below the title: capacity bars, room for arcs, slots, their names.
  struct Heights {
    float bars = 0.0f, arcs = 0.0f, slots = 0.0f, names = 0.0f;
  };

  Heights choose_heights();
  /// The left edge of slots and bars; the title is beside them if it has no separate line.
  float left_edge() const;
  void place_slots(const Heights& heights);
  void draw_slot(const Placed& placed) const;
  void draw_capacity(OnChipSpace space, float x0, float x1) const;
  const Placed* find(const Tile& tile) const;
  bool is_result(const SlotState& slot) const;
  /// The tile of a now invalid slot that the last operation read for the last time; nullptr for all
  /// other slots.
  const Tile* last_used_here(const SlotState& slot) const;

  const Snapshot& snapshot_;
  const PanelContext& context_;
  Rect rect_;
  std::vector<Placed> placed_;
  std::string scale_note_;
  float capacity_y_ = 0.0f;  ///< top of the line of the two capacity bars
  float split_x_ = 0.0f;     ///< between the two capacity bars
  float border_x_ = 0.0f;    ///< between the slots of shared memory and of registers
  float arc_rise_ = 0.0f;    ///< of an operation's arcs, in pixels
  bool has_both_spaces_ = false;
  bool show_title_ = true;
  bool show_sizes_ = true;
};

}  // namespace attnscope::app
