/// A schedule's loop over tiles: `for (const std::int32_t j : columns_of_row(g, i, range,
/// program))`. If only counts matter, it runs once for each run of equal tiles and lets the
/// observers multiply, so that the cost does not grow with the number of interior tiles.
///
/// Tiles are equal if every program processes them in the same way: see TileGrid::equal_columns().
/// The loop repeats an iteration only if every observer agrees (Program::repeatable()); until then
/// it runs the next one. A loop must not be left with `break`.
#pragma once

#include "sim/ops/program.h"

namespace attnscope {

class TileLoop {
 public:
  /// Number of consecutive positions of the range, from `position` on (at least 1), whose tiles are
  /// equal; `fixed` is the row or column tile that the loop stays in.
  using EqualTiles = Index (*)(const TileGrid& g, std::int32_t fixed, const TileRange& range,
                               std::int32_t position);

  /// An iteration may depend on its tile and the next `period - 1` ones, and on its number modulo
  /// `period`: buffers used in turn.
  TileLoop(const TileGrid& g, std::int32_t fixed, const TileRange& range, EqualTiles equal_tiles,
           Program& program, Index period = 1)
      : g_(g),
        fixed_(fixed),
        range_(range),
        equal_tiles_(equal_tiles),
        program_(program),
        period_(period) {}

  struct End {};
  struct Iterator {
    TileLoop& loop;
    std::int32_t operator*() const { return loop.range_.at(loop.range_.first); }
    Iterator& operator++() {
      loop.advance();
      return *this;
    }
    bool operator!=(End /*end*/) const { return !loop.range_.empty(); }
  };
  Iterator begin() {
    open_section();
    return {*this};
  }
  End end() const { return {}; }

 private:
  /// Marks the start of iterations that may be repeated, if the next tiles are equal.
  void open_section();
  void advance();

  const TileGrid& g_;
  std::int32_t fixed_;
  TileRange range_;  ///< the tiles from the current one on
  EqualTiles equal_tiles_;
  Program& program_;
  Index period_;
  Index equal_ = 0;    ///< equal iterations ahead, including the current one
  Index section_ = 0;  ///< iterations since the mark; -1: there is no mark
};

/// The tiles (i, j) of row tile i, for j in `columns`.
TileLoop columns_of_row(const TileGrid& g, std::int32_t i, const TileRange& columns,
                        Program& program, Index period = 1);
/// The tiles (i, j) of column tile j, for i in `rows`.
TileLoop rows_of_column(const TileGrid& g, std::int32_t j, const TileRange& rows, Program& program,
                        Index period = 1);
/// Whole column tiles, with the row tiles that see them.
TileLoop whole_columns(const TileGrid& g, Program& program);
/// Indices that affect neither sizes nor masks, such as splits and heads.
TileLoop equal_parts(const TileGrid& g, std::int32_t count, Program& program);

}  // namespace attnscope
