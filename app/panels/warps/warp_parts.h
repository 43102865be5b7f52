/// One operation under one partition of the warps, as the screen shows it: the part of each warp in
/// each tile, and the exchange through shared memory, as text and bytes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/panels/parts/panel.h"
#include "sim/observers/warp_shares.h"

namespace attnscope::app {

/// One tile of the operation.
struct WarpTile {
  Tile tile;
  Shape shape;              ///< as it is drawn
  bool transposed = false;  ///< true: drawn with its rows as columns
  WarpUse use;              ///< its final distribution over the warps
  bool partial = false;     ///< true: each of its sums is spread over all warps
  std::vector<WarpShare> shares;
};

/// "reads all of K₁": what each warp does, with the bytes of all warps together.
struct WarpLine {
  std::string words;
  std::string formula;  ///< "4 × 16 · 16 · 2"; empty if nothing moves
  Index bytes = 0;
};

struct WarpParts {
  WarpLayout layout;
  bool product = false;  ///< true: `tiles` are the left operand, the upper operand and the result
  std::vector<WarpTile> tiles;  ///< if not a product: sources, then results
  std::vector<WarpLine> lines;
};

WarpParts warp_parts(const TileOp& op, const TileGrid& grid, const WarpLayout& layout);

/// The difference between the two partitions in this operation, in one sentence.
std::string_view warp_sentence(const TileOp& op);

/// "rows 4 to 7", counted from the tile's first.
std::string range_text(std::string_view what, const KeyRange& range);

// The tiles of an operation, cut into parts in the colours of the warps that hold them: a product
// as left operand, upper operand and result, another operation's tiles in a row.

/// The colour of a warp, which has no other meaning: it only distinguishes the warps of one thread
/// block.
ImU32 warp_color(const Theme& theme, Index warp, Index warps);
/// A text colour that is readable on warp_color().
ImU32 text_on_warp(const Theme& theme, Index warp, Index warps);

/// Draws into the rectangle and shows tooltips. Named rectangles:
/// "warps.PARTITION.TENSOR".
void draw_warp_picture(const PanelContext& context, const TileGrid& grid, const WarpParts& parts,
                       const Rect& rect);

}  // namespace attnscope::app
