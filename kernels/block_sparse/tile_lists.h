/// The lists of tiles that block_sparse2's thread blocks visit, as its kernels read them. Plain
/// C++.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/catalog.h"

namespace attnscope::kernels {

/// Number t says where in the array tile t's list begins: the tiles that it visits, ascending, and
/// -1 behind them.
using TileLists = std::vector<int>;

/// Of each row tile: the column tiles that the mask and packed sequences leave and the block mask
/// keeps; without a block mask all that they leave. The block mask's tiles are those of the tiling.
TileLists column_tile_lists(const AttentionProblem& problem, const Tiling& tiling);
/// Of each column tile: its row tiles.
TileLists row_tile_lists(const AttentionProblem& problem, const Tiling& tiling);

/// Most numbers that either has, in any tiling that the kernel has for the problem.
Index most_list_numbers(const KernelInfo& kernel, const AttentionProblem& problem);

}  // namespace attnscope::kernels
