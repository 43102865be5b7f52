/// The picture of one slot's contents, and the names of operations between slots.
#pragma once

#include <string_view>

#include "app/draw/canvas.h"
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

}  // namespace attnscope::app
