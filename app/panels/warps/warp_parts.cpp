#include "app/panels/warps/warp_parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/observers/occupancy.h"
#include "sim/snapshot/describe_op.h"

namespace attnscope::app {

namespace {

/// "its queries of S₂₁", "all of K₁".
std::string part_name(const WarpUse& use) {
  const std::string name = tile_name(use.tile);
  if (use.spread == WarpSpread::whole) return "all of " + name;
  const bool keys =
      use.spread == WarpSpread::by_columns || layout_of(use.tile.tensor) == TensorLayout::key_by_d;
  return (keys ? "its keys of " : "its queries of ") + name;
}

std::string words_of(const WarpUse& use) {
  switch (use.access) {
    case WarpAccess::holds:
      return "has " + part_name(use);
    case WarpAccess::loads:
      return "loads a share of " + tile_name(use.tile);
    case WarpAccess::reads:
    case WarpAccess::takes:
      return "reads " + part_name(use);
    case WarpAccess::shares:
      return "writes " + part_name(use);
    case WarpAccess::writes_part:
      return "writes a part of " + tile_name(use.tile);
    case WarpAccess::reads_parts:
      return use.spread == WarpSpread::whole ? "reads every part of " + tile_name(use.tile)
                                             : "adds up " + part_name(use);
  }
  return "";
}

/// A line with the bytes of all warps, and the product that gives them.
WarpLine line_of(const WarpUse& use, const TileGrid& grid, Index computing) {
  WarpLine line{words_of(use), {}, 0};
  if (use.access == WarpAccess::holds) return line;
  const Shape shape = grid.shape(use.tile);
  const Index element = moved_element_bytes(use, grid.problem().dtype);
  line.formula = fmt::format("{} · {} · {}", shape.rows, shape.cols, element);
  line.bytes = shape.elems() * element;
  if (use.access == WarpAccess::reads_parts) {
    line.formula = fmt::format("{} × ", computing) + line.formula;
    line.bytes *= computing;
  }
  if (use.spread == WarpSpread::whole) {
    line.formula = fmt::format("{} × ", computing) + line.formula;
    line.bytes *= computing;
  }
  return line;
}

/// The tile with its distribution over the warps during the computation.
WarpTile picture_of(const Tile& tile, const TileOp& op, const TileGrid& grid,
                    const WarpLayout& layout) {
  WarpTile picture{.tile = tile, .shape = grid.shape(tile), .use = {tile}};
  const auto concerns = [&](const WarpUse& use) { return use.tile.tensor == tile.tensor; };
  for (const WarpUse& use : WarpUses(op, layout.partition)) {
    if (!concerns(use)) continue;
    if (use.access == WarpAccess::writes_part) picture.partial = true;
    const bool exchange = use.access == WarpAccess::writes_part ||
                          use.access == WarpAccess::reads_parts || use.access == WarpAccess::shares;
    if (!exchange) picture.use = use;
  }
  for (const WarpShare& share : warp_shares(op, grid, layout)) {
    const bool shown = concerns(share.use) && share.use.access == picture.use.access &&
                       share.use.spread == picture.use.spread;
    // A tile that is changed in place is listed twice
    const bool known =
        std::ranges::find(picture.shares, share.warp, &WarpShare::warp) != picture.shares.end();
    if (shown && !known) picture.shares.push_back(share);
  }
  return picture;
}

void transpose(WarpTile& tile) {
  tile.transposed = true;
  std::swap(tile.shape.rows, tile.shape.cols);
}

}  // namespace

WarpParts warp_parts(const TileOp& op, const TileGrid& grid, const WarpLayout& layout) {
  WarpParts parts;
  parts.layout = layout;
  parts.product = op.is_matrix_product();
  for (const Tile& tile : op.sources()) {
    // Skip a load's source, which is in HBM, and a tile changed in place, which is also a result
    const bool result = std::ranges::any_of(
        op.dests(), [&](const Tile& dest) { return dest.on_chip() && dest.tensor == tile.tensor; });
    if (tile.on_chip() && !result) parts.tiles.push_back(picture_of(tile, op, grid, layout));
  }
  for (const Tile& tile : op.dests()) {
    if (tile.on_chip()) parts.tiles.push_back(picture_of(tile, op, grid, layout));
  }
  if (op.makes_scores()) transpose(parts.tiles[1]);
  if (op.sums_queries()) transpose(parts.tiles[0]);

  const Index computing = computing_warps(op, grid, layout);
  for (const WarpUse& use : WarpUses(op, layout.partition)) {
    const WarpLine line = line_of(use, grid, computing);
    const bool said =
        std::ranges::find(parts.lines, line.words, &WarpLine::words) != parts.lines.end();
    if (!said) parts.lines.push_back(line);
  }
  return parts;
}

std::string_view warp_sentence(const TileOp& op) {
  if (op.makes_scores()) {
    return "No sum is split, so nothing is exchanged: each warp has everything its part of the "
           "result needs.";
  }
  if (op.sums_queries()) {
    return "A sum over the queries. Under split-Q other warps have them, so the tile goes through "
           "shared memory; under sliced-K each warp has all queries of its keys.";
  }
  if (op.is_matrix_product()) {
    return "A sum over the keys. Under sliced-K each warp has a part of every element, and the "
           "parts are summed in shared memory; under split-Q each warp has whole sums.";
  }
  if (op.reduces_rows() && is_score(op.source_tiles[0].tensor)) {
    return "One number per query, over all keys. Under sliced-K the warps' parts must be combined; "
           "under split-Q each warp has all keys of its queries.";
  }
  if (op.kind == OpKind::row_dot) {
    return "One number per query, computed query by query. Under sliced-K every warp needs all of "
           "them.";
  }
  if (op.kind == OpKind::exp && is_score(op.dest_tiles[0].tensor)) {
    return "Each warp computes its part of P in its registers. MEMORY reserves shared memory for "
           "every operand of a product, including P.";
  }
  if (op.kind == OpKind::load && op.dest_tiles[0].on_chip()) {
    if (op.agent == Agent::producer) {
      return "A bulk copy that one thread starts: the consumers' warps wait for it at a barrier.";
    }
    return on_chip_space(op.dest_tiles[0]) == OnChipSpace::shared
               ? "All warps load the tile together; no warp may read it before a barrier."
               : "Each warp loads into its own registers.";
  }
  if (op.is_of_barrier()) {
    return "The agent's warps proceed together: a wait ends for all of them at once, and each of "
           "them arrives.";
  }
  return "Each warp works on its own registers: nothing passes between warps.";
}

std::string range_text(std::string_view what, const KeyRange& range) {
  if (range.size() == 1) return fmt::format("{} {}", what, range.begin);
  return fmt::format("{}s {} to {}", what, range.begin, range.end - 1);
}

}  // namespace attnscope::app
