/// What one slot on chip holds, as a picture, and what an operation between slots is called.
#pragma once

#include <string_view>

#include "app/draw/canvas.h"
#include "app/panels/snapshot_view.h"
#include "sim/snapshot/snapshot.h"

namespace attnscope::app {

/// Fills `box` with the values of the slot, stronger where |value| is larger, a gradient hatched;
/// dotted where it is poisoned. `extent` is that of the tile that it holds: a ragged one fills a
/// part of the box.
void draw_slot_contents(const draw::Canvas& canvas, const SlotState& slot, const Rect& box,
                        const Extent& extent);

/// A slot whose tile the last operation read for the last time: its colour without values, in a
/// dashed outline.
void draw_last_used(const draw::Canvas& canvas, Tensor tensor, const Rect& box);

/// What an operation does, in the few letters that fit beside its arcs: "Q Kᵀ", "rowmax",
/// "rescale"; empty for what moves bytes and where the tiles say enough.
std::string_view operation_label(const TileOp& op);

}  // namespace attnscope::app
