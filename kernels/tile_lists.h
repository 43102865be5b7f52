/// The lists of tiles that thread blocks visit under a block mask or in packed sequences, as the
/// kernels read them. Plain C++.
#pragma once

#include <vector>

#include "reference/run_spec.h"

namespace attnscope::kernels {

/// Element t is the index in the array at which tile t's list begins: the tiles that it visits, in
/// ascending order, then -1.
using TileLists = std::vector<int>;

/// For each row tile: the column tiles that are visible under the mask and packed sequences and, if
/// there is a block mask, kept by it. The block mask's tiles are those of the tiling. Tiles between
/// two packed sequences may be in neither list.
TileLists column_tile_lists(const AttentionProblem& problem, const Tiling& tiling);
/// For each column tile: its row tiles.
TileLists row_tile_lists(const AttentionProblem& problem, const Tiling& tiling);

}  // namespace attnscope::kernels
