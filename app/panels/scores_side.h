/// What stands beside the grid of score tiles: the legend, and an enlarged tile.
#pragma once

#include "app/panels/score_cells.h"
#include "app/panels/scores_frame.h"

namespace attnscope::app {

/// States of tiles and the scale of their values; answers the height used.
float draw_score_legend(const ScoresFrame& frame, const ScoreCells& cells, const Rect& area);

/// The tile on chip, enlarged, where tiles of the grid are small.
void draw_score_inset(const ScoresFrame& frame, const Rect& area);

}  // namespace attnscope::app
