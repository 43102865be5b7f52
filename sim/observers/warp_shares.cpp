#include "sim/observers/warp_shares.h"

#include <algorithm>

#include "reference/check.h"
#include "sim/observers/occupancy.h"

namespace attnscope {

void WarpUses::add(const Tile& tile, WarpSpread spread, WarpAccess access) {
  ATTNSCOPE_CHECK(count_, <, uses_.size());
  uses_[count_++] = {tile, spread, access};
}

/// A tile in registers, distributed according to the partition.
void WarpUses::add_held(const Tile& tile) {
  WarpSpread spread = WarpSpread::by_rows;
  if (partition_ == WarpPartition::sliced_k) {
    if (is_score(tile.tensor)) spread = WarpSpread::by_columns;
    if (layout_of(tile.tensor) == TensorLayout::query_by_one) spread = WarpSpread::whole;
  }
  add(tile, spread, WarpAccess::holds);
}

/// S = Q K^T and dP = dO V^T, or O += P V and dQ += dS K.
void WarpUses::add_product(const TileOp& op) {
  const bool sliced = partition_ == WarpPartition::sliced_k;
  const auto [of_rows, of_keys] = std::pair(op.source_tiles[0], op.source_tiles[1]);
  if (op.makes_scores()) {
    add(of_rows, sliced ? WarpSpread::whole : WarpSpread::by_rows, WarpAccess::reads);
  } else {
    add_held(of_rows);
  }
  // K and V have a row for each key
  add(of_keys, sliced ? WarpSpread::by_rows : WarpSpread::whole, WarpAccess::reads);
  if (!op.makes_scores() && sliced) {
    add(op.dest_tiles[0], WarpSpread::whole, WarpAccess::writes_part);
    add(op.dest_tiles[0], WarpSpread::by_rows, WarpAccess::reads_parts);
  }
  add_held(op.dest_tiles[0]);
}

/// dV += P^T dO, dK += dS^T Q: each warp has the rows of the result for its keys.
void WarpUses::add_transposed_product(const TileOp& op) {
  const Tile& scores = op.source_tiles[0];
  if (partition_ == WarpPartition::sliced_k) {
    add_held(scores);
  } else {
    add(scores, WarpSpread::by_rows, WarpAccess::shares);
    add(scores, WarpSpread::by_columns, WarpAccess::takes);
  }
  add(op.source_tiles[1], WarpSpread::whole, WarpAccess::reads);
  add_held(op.dest_tiles[0]);
}

/// D = rowsum(dO * O), by rows.
void WarpUses::add_row_dot(const TileOp& op) {
  for (const Tile& source : op.sources()) {
    const bool in_shared = on_chip_space(source) == OnChipSpace::shared;
    add(source, WarpSpread::by_rows, in_shared ? WarpAccess::reads : WarpAccess::holds);
  }
  const Tile& D = op.dest_tiles[0];
  if (partition_ == WarpPartition::sliced_k) {
    add(D, WarpSpread::by_rows, WarpAccess::shares);
    add(D, WarpSpread::whole, WarpAccess::takes);
  }
  add_held(D);
}

void WarpUses::add_reduction(const TileOp& op) {
  add_held(op.source_tiles[0]);
  if (partition_ == WarpPartition::sliced_k) {
    add(op.dest_tiles[0], WarpSpread::whole, WarpAccess::writes_part);
    add(op.dest_tiles[0], WarpSpread::whole, WarpAccess::reads_parts);
  }
  for (const Tile& dest : op.dests()) add_held(dest);
}

void WarpUses::add_load(const TileOp& op) {
  const Tile& to = op.dest_tiles[0];
  if (on_chip_space(to) == OnChipSpace::shared) {
    add(to, WarpSpread::by_rows, WarpAccess::loads);
  } else {
    add_held(to);
  }
}

WarpUses::WarpUses(const TileOp& op, WarpPartition partition) : partition_(partition) {
  if (op.kind == OpKind::load) {
    add_load(op);
  } else if (op.sums_queries()) {
    add_transposed_product(op);
  } else if (op.is_matrix_product()) {
    add_product(op);
  } else if (op.reduces_rows() && is_score(op.source_tiles[0].tensor)) {
    add_reduction(op);
  } else if (op.kind == OpKind::row_dot) {
    add_row_dot(op);
  } else {
    for (const Tile& source : op.sources()) add_held(source);
    for (const Tile& dest : op.dests()) {
      if (dest.on_chip()) add_held(dest);
    }
  }
}

KeyRange warp_part(Index count, Index warp, Index warps) {
  const Index each = ceil_div(count, warps);
  return {std::min(warp * each, count), std::min((warp + 1) * each, count)};
}

namespace {

/// The number of warps that have a part of `count` rows or columns.
Index parts_of(Index count, Index warps) {
  return ceil_div(count, ceil_div(count, warps));
}

/// The number of warps that execute the operation: each consumer has an equal part of the block's
/// warps.
Index warps_of(const TileOp& op, const TileGrid& grid, const WarpLayout& layout) {
  return is_consumer(op.agent) ? std::max<Index>(layout.warps / grid.shares(), 1) : layout.warps;
}

}  // namespace

Index computing_warps(const TileOp& op, const TileGrid& grid, const WarpLayout& layout) {
  const Index executing = warps_of(op, grid, layout);
  const auto of_scores = [&](const Tile& S) {
    const bool by_keys = layout.partition == WarpPartition::sliced_k || op.sums_queries();
    return parts_of(by_keys ? grid.shape(S).cols : grid.shape(S).rows, executing);
  };
  for (const Tile& tile : op.dests()) {
    if (is_score(tile.tensor)) return of_scores(tile);
  }
  for (const Tile& tile : op.sources()) {
    if (is_score(tile.tensor)) return of_scores(tile);
  }
  return executing;
}

Index moved_element_bytes(const WarpUse& use, DType dtype) {
  const bool partial =
      use.access == WarpAccess::writes_part || use.access == WarpAccess::reads_parts;
  return partial ? size_bytes(DType::fp32) : on_chip_element_bytes(use.tile, dtype);
}

Index WarpShare::moved_elems() const {
  return use.access == WarpAccess::holds ? 0 : rows.size() * cols.size() * parts;
}

std::vector<WarpShare> warp_shares(const TileOp& op, const TileGrid& grid,
                                   const WarpLayout& layout) {
  // A product or reduction involves the warps that have a part of S; a load involves all
  const Index computing = computing_warps(op, grid, layout);
  std::vector<WarpShare> shares;
  for (const WarpUse& use : WarpUses(op, layout.partition)) {
    const Shape shape = grid.shape(use.tile);
    const bool combines = use.access == WarpAccess::reads_parts;
    // A whole tile or a sum of parts involves the computing warps; any other tile is divided among
    // all warps that execute the operation
    const bool whole = use.spread == WarpSpread::whole;
    const Index warps = whole || combines ? computing : warps_of(op, grid, layout);
    for (Index warp = 0; warp < warps; ++warp) {
      WarpShare share{warp, use, {0, shape.rows}, {0, shape.cols}, combines ? computing : 1};
      if (use.spread == WarpSpread::by_rows) share.rows = warp_part(shape.rows, warp, warps);
      if (use.spread == WarpSpread::by_columns) share.cols = warp_part(shape.cols, warp, warps);
      if (share.rows.size() > 0 && share.cols.size() > 0) shares.push_back(share);
    }
  }
  return shares;
}

}  // namespace attnscope
