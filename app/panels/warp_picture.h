/// The tiles of one operation, cut into parts in the colours of the warps that have them: products
/// as left operand, upper operand and result, other operations in a row.
#pragma once

#include "app/panel.h"
#include "app/panels/warp_parts.h"

namespace attnscope::app {

/// Colours of warps repeat nothing: they only tell the warps of one thread block apart.
ImU32 warp_color(const Theme& theme, Index warp, Index warps);
/// Letters that can be read on it.
ImU32 text_on_warp(const Theme& theme, Index warp, Index warps);

/// Draws into the rectangle and answers hovering. Named rectangles:
/// "warps.PARTITION.TENSOR".
void draw_warp_picture(const PanelContext& context, const TileGrid& grid, const WarpParts& parts,
                       const Rect& rect);

}  // namespace attnscope::app
