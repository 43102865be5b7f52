/// Data that the parts of the scores panel share while they draw one frame: the cells
/// (score_cells.cpp), the grid (scores_grid.cpp), the legend (scores_side.cpp), the strip of
/// heads (head_strip.cpp) and the tiles of a broken run (wrong_tiles.cpp).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <vector>

#include "app/draw/heat_map.h"
#include "app/draw/zoom.h"
#include "app/panels/parts/panel.h"
#include "app/panels/parts/snapshot_view.h"
#include "app/scene/shown_head.h"

namespace attnscope::app {

/// Length of the mark on an axis at the tile under the playhead, in design units.
constexpr float kMarkLength = 5.0f;
/// Height of the line above the grid with the indices of column tiles, and the mark below them.
inline float index_line_height(const PanelContext& context) {
  return context.fonts.mono_small.size + context.px(kMarkLength + 2.0f);
}

/// The elements of tile (i, j) of the plain grid.
inline Area tile_area(const RunInfo& run, Index i, Index j) {
  const Tiling& tiling = run.tiling();
  const AttentionProblem& problem = run.problem();
  return {{i * tiling.Br, std::min((i + 1) * tiling.Br, problem.N)},
          {j * tiling.Bc, std::min((j + 1) * tiling.Bc, problem.N_kv)}};
}

/// A stretch of rows (or columns) of the scores that is drawn as one: elements [begin, end), within
/// tile `tile` or, if there are many tiles, of several whole ones from `tile` on.
struct CellSpan {
  Index begin = 0, end = 0;
  Index tile = 0;
};

/// The number of elements per cell along an axis, so that this part of the axis has few cells: a
/// part of a tile, or several whole tiles.
Index cell_size(const Span& part, Index tile_size);
/// Cuts a part of an axis of `count` elements in tiles into cells, which never cross a tile's
/// border unless they hold whole tiles. The first and the last one may extend beyond the part's
/// edges, so that cells keep their places when the part moves.
std::vector<CellSpan> cut_axis(const Span& part, Index count, Index tile_size, Index cell);

/// A part of the scores of one head reduced to few cells that respect the tiles' borders.
struct ScoreCells {
  ScoreCells() = default;
  ScoreCells(const RunInfo& run, Tensor shown, const Area& part);

  /// Mean of the visible elements in the cell; -inf if the mask hides all of it, NaN without
  /// values.
  double mean(std::size_t row, std::size_t col) const { return means[row * cols.size() + col]; }
  bool is_exact() const { return size == Shape{1, 1}; }

  Tensor tensor = Tensor::S;
  Shape size;  ///< elements of a cell
  std::vector<CellSpan> rows, cols;
  std::vector<double> means;
  draw::ValueRange scale;  ///< score_scale() of this size
};

/// The colour scale of cells of this size, the same for every visible part of the tensor. S: from
/// the smallest to the largest mean. P: from 0 to the value that 98 % of the cells do not exceed;
/// dP and dS: the same on both sides of 0. Otherwise a few large values would leave all others in
/// one colour.
draw::ValueRange score_scale(const RunInfo& run, const ScoreCells& cells);

/// The tensor that the cells show: the chosen one, or the latest; S if the pass has no other.
Tensor shown_scores(const Snapshot& snapshot, ScoresTab chosen);
/// The tabs of the heading: "latest" and each tensor that the pass has.
std::vector<ScoresTab> scores_tabs(const RunInfo& run);

/// How visible the errors of a broken run's tiles and rows are at a step (wrong_tiles.cpp).
class WrongTiles {
 public:
  /// Computes them, unless they are up to date for this effect and step.
  void update(const Snapshot& snapshot);
  /// From 0 (correct) to 1, for each tile of the plain grid in C order [Tr, Tc], for each row [N]
  /// of O, dQ and dQ_accum, or for each row [N_kv] of dK and dV. Empty for a run without a break.
  const std::vector<float>& of(Tensor tensor) const {
    return strengths_[static_cast<std::size_t>(tensor)];
  }

 private:
  std::shared_ptr<const BreakEffect> effect_;
  Index step_ = -1;
  std::array<std::vector<float>, kTensorCount> strengths_;
};

/// The place of the grid, and the marks in it.
struct ScoresFrame {
  const Snapshot& snapshot;
  const PanelContext& context;
  Rect grid;  ///< the place of the visible part of the N x N_kv scores
  draw::ZoomedAxis rows = {}, cols = {};
  Index query_row = 0;                   ///< the followed row; -1: none
  float name_end = 0.0f;                 ///< right limit of the name of the column axis
  Index current_i = -1, current_j = -1;  ///< the current tile; -1: none

  std::optional<Highlight> pointed = {};  ///< what belongs to the thing under the mouse

  ShownHead head{};                   ///< the head whose scores the grid shows
  Tensor shown = Tensor::S;           ///< the tensor that the cells show
  bool draws_all_slots = true;        ///< true: also tiles on chip of tensors other than `shown`
  const WrongTiles* wrong = nullptr;  ///< not null: a broken run, whose effect is shown
  const RunInfo& run() const { return *snapshot.run; }
  float x_of(Index col) const {
    const double share = static_cast<double>(col) / static_cast<double>(run().problem().N_kv);
    return grid.min.x + grid.width() * static_cast<float>(cols.position(share));
  }
  float y_of(Index row) const {
    const double share = static_cast<double>(row) / static_cast<double>(run().problem().N);
    return grid.min.y + grid.height() * static_cast<float>(rows.position(share));
  }
  float tile_width() const { return x_of(run().tiling().Bc) - x_of(0); }
  float tile_height() const { return y_of(run().tiling().Br) - y_of(0); }
  /// The elements that are visible, in part or whole.
  Area visible() const;
  /// The tiles of the plain grid that contain any of the visible elements.
  Area visible_tiles() const;
  Rect rect_of(const Area& area) const {
    return {{x_of(area.cols.begin), y_of(area.rows.begin)},
            {x_of(area.cols.end), y_of(area.rows.end)}};
  }
  /// Tile (i, j) of the plain grid.
  Rect tile_rect(Index i, Index j) const { return rect_of(tile_area(run(), i, j)); }
};

/// The slot of dS, dP, P or S that currently has a tile, in this order; nullptr if none does.
inline const SlotState* score_slot(const Snapshot& snapshot) {
  for (const Tensor tensor : {Tensor::dS, Tensor::dP, Tensor::P, Tensor::S}) {
    const SlotState* slot = find_slot(snapshot, tensor);
    if (slot != nullptr && slot->valid) return slot;
  }
  return nullptr;
}

/// Whether a tile on chip is drawn in cells of the grid's size and colours: its values are final,
/// and the cells are small parts of a tile of the same tensor.
bool shares_cells(const ScoresFrame& frame, const ScoreCells& cells, const SlotState& slot);
/// The colour scale of a tile on chip: the scale of the cells if it shares them; else a scale of
/// its own values.
draw::ValueRange range_of_slot(const ScoresFrame& frame, const ScoreCells& cells,
                               const SlotState& slot);
/// A part of a tile on chip, reduced to the cells in which it is drawn: those of the grid if it
/// shares them, else at most this many along each axis.
ValueTile cells_of_slot(const ScoresFrame& frame, const ScoreCells& cells, const SlotState& slot,
                        const ValueTile& part, Shape most);
/// The tile on chip that is drawn on top; nullptr when there is none.
const SlotState* top_slot(const ScoresFrame& frame);

/// Marks the tiles and rows of a broken run that are wrong at this step (wrong_tiles.cpp). Named
/// rectangles: "scores.wrong.TENSOR.ROW" of adjacent wrong rows, named after the first.
void draw_wrong_tiles(const ScoresFrame& frame);

/// Outlines the queries and keys of each packed sequence. Named rectangles: "scores.sequence.0",
/// ...
void draw_sequences(const ScoresFrame& frame);
/// Marks the tile under the playhead, the followed row and what belongs to the thing under the
/// mouse (scores_marks.cpp).
void draw_score_marks(const ScoresFrame& frame);

/// Colour of a score or a probability: 0 for a missing one, a tint of red for a hidden one. Values
/// have only as many colours as the eye can tell apart, so that neighbours of one colour are drawn
/// as one rectangle.
inline ImU32 score_color(const Theme& theme, const draw::ValueRange& range, double value) {
  constexpr float kColors = 48.0f;
  if (std::isnan(value)) return 0;
  if (std::isinf(value)) return mix(theme.untouched, theme.error, 0.12f);
  return draw::sequential_color(theme, std::round(range.position(value) * kColors) / kColors);
}

/// The colour of tiles that are not computed: red where the mask hides them, blue where a block
/// mask leaves them out.
inline ImU32 skipped_color(const Theme& theme, TileState state) {
  return state == TileState::left_out ? theme.accent : theme.error;
}

/// Largest number of cells along an axis to which the values of one tile are reduced.
inline constexpr Index kTileCells = 32;

/// Draws values by state of their tile, borders, tiles on chip, the current tile, the followed
/// query row, what belongs to the thing under the mouse, names and indices of the axes. Named
/// rectangles: "scores.current_tile", "scores.query_row", "scores.pointed".
void draw_score_grid(const ScoresFrame& frame, const ScoreCells& cells);

/// If a run has several heads, draws above the grid selectors for head and batch entry, and a strip
/// of all heads, in which the filled part of a cell is the share of the entry's keys that are not
/// padding. Returns the room below. Named rectangles: "scores.heads", "scores.heads.chosen",
/// "scores.head.next", "scores.entry.next", ... "previous".
Rect draw_head_strip(const RunInfo& run, ViewState& view, const PanelContext& context,
                     const Rect& rest);

/// Draws the states of tiles and the scale of values beside the grid; returns the height used.
float draw_score_legend(const ScoresFrame& frame, const ScoreCells& cells, const Rect& area);

/// Draws the tile on chip enlarged, if tiles of the grid are small.
void draw_score_inset(const ScoresFrame& frame, const ScoreCells& cells, const Rect& area);

}  // namespace attnscope::app
