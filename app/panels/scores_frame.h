/// What the parts of the scores panel share while they draw one frame.
#pragma once

#include <algorithm>
#include <cmath>

#include "app/draw/canvas.h"
#include "app/draw/heat_map.h"
#include "app/panel.h"
#include "app/panels/snapshot_view.h"
#include "app/shown_head.h"

namespace attnscope::app {

/// Where the grid is drawn, and what is marked in it.
struct ScoresFrame {
  const Snapshot& snapshot;
  const PanelContext& context;
  Rect grid;             ///< of all N x N_kv scores
  Index chosen_row = 0;  ///< that was clicked on
  Index query_row =
      0;  ///< that the panel below follows; in ONLINE SOFTMAX: the same row within the current tile
  float name_end = 0.0f;                 ///< how far right the name of the column axis may go
  Index current_i = -1, current_j = -1;  ///< tile being worked on; -1 where there is none

  ShownHead head{};  ///< which rows these are
  const RunInfo& run() const { return *snapshot.run; }
  float x_of(Index col) const {
    return grid.min.x +
           grid.width() * static_cast<float>(col) / static_cast<float>(run().problem().N_kv);
  }
  float y_of(Index row) const {
    return grid.min.y +
           grid.height() * static_cast<float>(row) / static_cast<float>(run().problem().N);
  }
  Rect rect_of(const Extent& e) const {
    return {{x_of(e.col_begin), y_of(e.row_begin)}, {x_of(e.col_end), y_of(e.row_end)}};
  }
  /// Tile (i, j) of the plain grid.
  Rect tile_rect(Index i, Index j) const {
    const Tiling& tiling = run().tiling();
    const AttentionProblem& problem = run().problem();
    return rect_of({i * tiling.Br, std::min((i + 1) * tiling.Br, problem.N), j * tiling.Bc,
                    std::min((j + 1) * tiling.Bc, problem.N_kv)});
  }
};

/// What lies over the score grid: scores, probabilities and their gradients.
inline constexpr Tensor kScoreTensors[] = {Tensor::S, Tensor::P, Tensor::dP, Tensor::dS};

/// The slot of these that holds a tile now, the latest computed first; nullptr when none does.
inline const SlotState* score_slot(const Snapshot& snapshot) {
  for (const Tensor tensor : {Tensor::dS, Tensor::dP, Tensor::P, Tensor::S}) {
    const SlotState* slot = find_slot(snapshot, tensor);
    if (slot != nullptr && slot->valid) return slot;
  }
  return nullptr;
}

/// Colour of a score or a probability: 0 for one that is not there, a hint of red for a hidden one.
inline ImU32 score_color(const Theme& theme, const draw::ValueRange& range, double value) {
  if (std::isnan(value)) return 0;
  if (std::isinf(value)) return mix(theme.untouched, theme.error, 0.12f);
  return draw::sequential_color(theme, range.position(value));
}

/// Of tiles that are not computed: red where the mask hides them, blue where a block mask leaves
/// them out.
inline ImU32 skipped_color(const Theme& theme, TileState state) {
  return state == TileState::left_out ? theme.accent : theme.error;
}

/// Most cells that the values of one tile are brought down to, along an axis.
inline constexpr Index kTileCells = 32;

}  // namespace attnscope::app
