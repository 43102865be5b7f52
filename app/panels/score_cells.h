/// The scores of one head brought down to few cells that keep to the tiles' borders.
#pragma once

#include <memory>
#include <vector>

#include "app/draw/heat_map.h"
#include "sim/snapshot/snapshot.h"

namespace attnscope::app {

/// One stretch of rows (or columns) that is drawn as one: elements [begin, end) of tile `tile`;
/// where tiles are many, of tiles [tile, past_tile).
struct CellSpan {
  Index begin = 0, end = 0;
  Index tile = 0, past_tile = 1;
};

class ScoreCells {
 public:
  /// Most cells along an axis.
  static constexpr Index kMaxCells = 64;

  /// Rebuilds when `run` is another one than last time.
  void update(const std::shared_ptr<const RunInfo>& run);

  const std::vector<CellSpan>& rows() const { return rows_; }
  const std::vector<CellSpan>& cols() const { return cols_; }
  /// Mean of the scores in the cell; -inf where the mask hides all of it, NaN without values.
  double mean(std::size_t row, std::size_t col) const { return means_[row * cols_.size() + col]; }
  /// A cell is one element.
  bool exact() const { return exact_; }
  draw::ValueRange range() const { return range_; }

 private:
  void fill_means(const RunInfo& run);

  std::shared_ptr<const RunInfo> run_;
  std::vector<CellSpan> rows_;
  std::vector<CellSpan> cols_;
  std::vector<double> means_;
  bool exact_ = false;
  draw::ValueRange range_;
};

/// Cuts an axis of `size` elements in tiles of `tile_size` into at most `max_cells` stretches that
/// never cross a tile's border unless they hold whole tiles.
std::vector<CellSpan> cut_axis(Index size, Index tile_size, Index max_cells);

}  // namespace attnscope::app
