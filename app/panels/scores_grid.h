/// The grid of score tiles with its axes.
#pragma once

#include "app/panels/score_cells.h"
#include "app/panels/scores_frame.h"

namespace attnscope::app {

/// Values by state of their tile, borders, tiles on chip, the followed query row, names and indices
/// of the axes.
void draw_score_grid(const ScoresFrame& frame, const ScoreCells& cells);

}  // namespace attnscope::app
