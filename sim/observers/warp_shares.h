/// The data that each warp of a thread block reads, holds and exchanges in one operation, under a
/// WarpLayout (arXiv 2307.08691, section 3.3).
///
/// split_q: a warp reads its rows of Q_i and all of K_j and V_j, and holds its rows of S, P, O and
/// of the statistics; warps exchange no data.
/// sliced_k: a warp reads all of Q_i and its slice of K_j and V_j, and holds its columns of S and P
/// and all statistics. Reductions over the keys (row maxima, row sums, P V) go through shared
/// memory in fp32: every warp writes its part, then, after a barrier, the parts are read. Every
/// warp reads all parts of a statistic; the parts of O are read by the warp that adds up those
/// rows.
///
/// In the backward pass, sliced_k: a warp also holds S, P, dP, dS and the rows of dK and dV of its
/// keys, so dK and dV need no exchange; dQ is a sum over the keys, and its parts go through shared
/// memory like those of O. D is computed by rows and read by all. split_q: the paper says only that
/// the partition avoids splitting sums among warps and that some synchronization remains. The model
/// uses the simplest such partition, the rows of each result: S, P, dP, dS and dQ by queries, dK
/// and dV by keys. dK and dV then need P and dS of other warps, which pass through shared memory in
/// the precision of a matrix operand. Kernel flash2 instead gives each warp a near-square part of
/// each result: it exchanges the same P and dS, but reads less of Q, K, V and dO.
///
/// All warps together load into shared memory. P stays in the registers of the warp that computed
/// it. Stores to HBM come from registers.
#pragma once

#include <array>
#include <vector>

#include "reference/algorithm.h"
#include "sim/ops/tile_grid.h"

namespace attnscope {

/// The distribution of a tile over the warps: divided by rows, divided by columns, or whole in
/// each.
enum class WarpSpread : std::uint8_t { by_rows, by_columns, whole };

enum class WarpAccess : std::uint8_t {
  holds,        ///< in its registers
  loads,        ///< writes the tile to shared memory, as its part of a load from HBM
  reads,        ///< reads the tile from shared memory
  shares,       ///< writes its part of the tile to shared memory, for other warps
  takes,        ///< reads data that other warps have written there
  writes_part,  ///< writes its partial result to the exchange buffer of the tile
  reads_parts,  ///< reads the partial results of all warps from there
};

/// One tile of an operation, for all warps.
struct WarpUse {
  Tile tile;
  WarpSpread spread = WarpSpread::by_rows;
  WarpAccess access = WarpAccess::holds;
};

/// The uses of an operation, in the order in which they happen.
class WarpUses {
 public:
  WarpUses(const TileOp& op, WarpPartition partition);
  const WarpUse* begin() const { return uses_.data(); }
  const WarpUse* end() const { return uses_.data() + count_; }

 private:
  void add(const Tile& tile, WarpSpread spread, WarpAccess access);
  void add_held(const Tile& tile);
  void add_load(const TileOp& op);
  void add_product(const TileOp& op);
  void add_transposed_product(const TileOp& op);
  void add_reduction(const TileOp& op);
  void add_row_dot(const TileOp& op);

  WarpPartition partition_;
  std::array<WarpUse, 8> uses_;
  std::size_t count_ = 0;
};

/// A warp's part of `count` rows or columns: equal parts, of which the last ones may be short or
/// empty.
KeyRange warp_part(Index count, Index warp, Index warps);
/// The number of warps that have a part of the tile of scores that the operation computes; all
/// warps of the block if it computes none.
Index computing_warps(const TileOp& op, const TileGrid& grid, const WarpLayout& layout);
/// Bytes of an element when moved by this use: partial results are in fp32.
Index moved_element_bytes(const WarpUse& use, DType dtype);

/// One warp's share of a tile: rows [rows.begin, rows.end) and columns of the tile, counted from
/// its first; `parts` partial results of each element if access is reads_parts, else 1.
struct WarpShare {
  Index warp = 0;
  WarpUse use;
  KeyRange rows;
  KeyRange cols;
  Index parts = 1;
  /// Elements that move between the warp and shared memory; 0 if it only holds them.
  Index moved_elems() const;
};

/// All warps' shares, use by use, without empty ones. For the screen: the counter (warp_counter.h)
/// adds up the same uses.
std::vector<WarpShare> warp_shares(const TileOp& op, const TileGrid& grid,
                                   const WarpLayout& layout);

}  // namespace attnscope
