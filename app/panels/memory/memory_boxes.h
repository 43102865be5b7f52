/// The two boxes of the memory panel: the tensors of one head in HBM (hbm_box.cpp, laid out by
/// hbm_box_layout.cpp), and the on-chip memory of one thread block (sram_box.cpp, laid out by
/// sram_box_layout.cpp).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/draw/canvas.h"
#include "app/panels/memory/memory_layout.h"
#include "app/panels/parts/panel.h"
#include "app/panels/parts/snapshot_view.h"
#include "sim/snapshot/snapshot.h"

namespace attnscope::app {

/// Shows which tiles of the tensors are written and which are in use, and outlines of S and P if
/// they are not stored.
class HbmBox {
 public:
  /// Places the tensors at the bottom of `rect`; nothing is drawn yet.
  HbmBox(const Snapshot& snapshot, const PanelContext& context, const ViewState& view,
         const Rect& rect);

  /// The box, which is no taller than the tensors need.
  const Rect& rect() const { return rect_; }
  /// Draws the tensors with their names and sizes. Named rectangles: "memory.tensor.NAME";
  /// "memory.cell.NAME", which includes the label.
  void draw() const;
  /// Marks the tiles that belong to the thing under the mouse. Named rectangles:
  /// "memory.pointed.NAME".
  void draw_pointed_tiles(const Highlight& pointed) const;
  void point_at(ViewState& view) const;

  /// The place of a tensor's elements in the picture; nothing if the tensor is not drawn.
  std::optional<Rect> part_rect(Tensor tensor, const Area& area) const;
  /// The path from a point above the box to the middle of the part that these elements occupy,
  /// between the other tensors and their labels.
  std::optional<draw::Route> route(ImVec2 from, Tensor tensor, const Area& area) const;

 private:
  struct Placed {
    const HbmTensorState* tensor;
    Rect box;
    Rect cell;            ///< with the label
    float free_x = 0.0f;  ///< where the next box begins
    float top = 0.0f;     ///< the top of its row
    std::size_t row = 0;
  };
  using Rows = std::vector<std::vector<const HbmTensorState*>>;

  struct Heights {
    float title = 0.0f, names = 0.0f, sizes = 0.0f, boxes = 0.0f;
    float between = 0.0f;  ///< between two rows, for arrows
  };

  /// The format of the sizes under the tensors: "16384 × 64", "16k × 64", only where there is room,
  /// or none.
  enum class Sizes { exact, brief, under_wide_ones, none };

  void choose_labels(const Rows& rows);
  RowScale scale_of(const Rows& rows) const;
  Heights heights_of(std::size_t rows) const;
  std::string size_of(const HbmTensorState& tensor, Sizes sizes) const;
  const FontRef& name_font() const {
    return small_names_ ? context_.fonts.small : context_.fonts.ui_bold;
  }
  std::vector<RowItem> items_of(const std::vector<const HbmTensorState*>& row) const;
  void place_rows(const Rows& rows);
  void lay_out_rows(const Rows& rows);
  /// The number of tensors whose outline or count of adds has room for text; 0 if labels overflow.
  int told() const;
  /// Whether the forward pass stored a tensor that this pass does not read.
  bool stored_elsewhere() const;
  /// "never stored" or "not read here", in lines that fit in its outline, or above it if the
  /// outline is too flat; none if nothing fits.
  std::vector<std::string> ghost_words(const Placed& placed) const;
  bool is_flat(const Placed& placed) const {
    return placed.box.height() < draw::line_height(context_.fonts.small);
  }
  /// Smallest height of a tile with a count beside it.
  float adds_height() const { return context_.fonts.mono_small.size * 0.9f; }
  float width_of_adds(const HbmTensorState& tensor) const;
  float left_padding() const;
  float row_width() const { return rect_.width() - left_padding() - context_.px(12.0f); }
  float min_size() const { return context_.px(7.0f); }
  /// Room for arrows above the first row.
  float arrow_room() const { return context_.px(14.0f); }
  void draw_title() const;
  /// The size under the tensor's name; empty if it does not fit.
  std::string size_below(const Placed& placed) const;
  /// "Q, K, V: 64 × 16 · l, m: 64 × 1": the sizes that are not under the names.
  std::string sizes_in_words() const;
  void draw_words(const Placed& placed) const;
  void draw_adds(const Placed& placed) const;
  void draw_tiles(const Placed& placed) const;
  /// Draws the outline of a tensor that is not stored. Named rectangle if it has text:
  /// "memory.ghost.TENSOR".
  void draw_ghost(const Placed& placed) const;
  /// The tile of a tensor at a place in its box, as a thing; for a tensor that is never stored, the
  /// tile of scores.
  std::optional<Thing> thing_at(const Placed& placed, ImVec2 at) const;
  void draw_in_use(const Placed& placed) const;

  const Snapshot& snapshot_;
  const PanelContext& context_;
  std::vector<std::string> head_words_;  ///< which head this is, the longest wording first
  Rect rect_;
  std::vector<Placed> placed_;
  std::string scale_note_;
  float slack_ = 0.0f;
  bool title_beside_ = false;  ///< true if its own line would take the tensors' room
  Sizes sizes_ = Sizes::exact;
  bool overflows_ = false;  ///< whether labels are wider than the box
  bool small_names_ = false;
  bool one_row_has_sizes_ = true;
};

// The on-chip memory: its slots, their contents (slot_picture.cpp), and the use of shared memory
// and registers.

/// Draws the slot's values in `box`: the larger |value|, the stronger the colour. A gradient is
/// hatched, an invalid slot dotted. `area` is the area of the slot's tile: a ragged tile fills only
/// a part of the box.
void draw_slot_contents(const draw::Canvas& canvas, const SlotState& slot, const Rect& box,
                        const Area& area);

/// Draws a slot whose tile the last operation read for the last time: its colour without values,
/// in a dashed outline.
void draw_last_used(const draw::Canvas& canvas, Tensor tensor, const Rect& box);

class SramBox {
 public:
  /// Places the slots within `rect`; nothing is drawn yet.
  SramBox(const Snapshot& snapshot, const PanelContext& context, const Rect& rect);

  void draw() const;
  /// Draws arcs from the operands of the last operation to its result, above the slots.
  void draw_operation() const;
  /// Marks the slots whose tiles belong to the thing under the mouse.
  void draw_pointed_slots(const Highlight& pointed) const;
  void point_at(ViewState& view) const;

  /// The point where arrows from below end: under the slot's label.
  std::optional<ImVec2> port(const Tile& tile) const;

 private:
  struct Placed {
    const SlotState* slot;
    Rect box;
    Rect cell;  ///< with the label
  };

  /// Heights from top to bottom, below the title: capacity bars, room for arcs, slots, their names.
  struct Heights {
    float bars = 0.0f, arcs = 0.0f, slots = 0.0f, names = 0.0f;
  };

  Heights choose_heights();
  /// Smallest height of the slots if something else can be left out.
  float least_slots() const { return context_.px(54.0f); }
  /// The left edge of slots and bars; the title is beside them if it has no separate line.
  float left_edge() const;
  void place_slots(const Heights& heights);
  draw::Range size_room(std::size_t first, std::size_t last) const;
  /// Places the sizes in their lines; returns whether all have room.
  bool place_sizes();
  void draw_slot(const Placed& placed) const;
  void draw_capacity(OnChipSpace space, float x0, float x1) const;
  const Placed* find(const Tile& tile) const;
  const FontRef& name_font() const {
    return small_names_ ? context_.fonts.small : context_.fonts.ui_bold;
  }
  Tile used_tile(Tile used) const;
  draw::Symbol name_of(const SlotState& slot) const;
  bool is_result(const SlotState& slot) const;
  /// The tile of a now invalid slot that the last operation read for the last time; nullptr for all
  /// other slots.
  const Tile* last_used_here(const SlotState& slot) const;
  bool lacks_row_tiles(const SlotState& slot) const;

  const Snapshot& snapshot_;
  const PanelContext& context_;
  Rect rect_;
  std::vector<Placed> placed_;
  struct SizeLabel {
    std::string text;
    float x = 0.0f;  ///< left edge
    std::size_t line = 0;
  };
  std::vector<SizeLabel> sizes_;
  std::string scale_note_;
  float capacity_y_ = 0.0f;  ///< top of the line of the two capacity bars
  float split_x_ = 0.0f;     ///< between the two capacity bars
  float border_x_ = 0.0f;    ///< between the slots of shared memory and of registers
  float arc_rise_ = 0.0f;    ///< the height of an operation's arcs, in pixels
  bool has_both_spaces_ = false;
  bool small_names_ = false;        ///< true if larger names would overlap
  bool names_have_indices_ = true;  ///< true: "K0"; false: "K", if even small names would overlap
  bool show_title_ = true;
  bool show_sizes_ = true;
  std::size_t lines_of_sizes_ = 1;
};

}  // namespace attnscope::app
