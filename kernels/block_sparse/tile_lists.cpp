#include "kernels/block_sparse/tile_lists.h"

#include <algorithm>
#include <span>

#include "kernels/forward_parameters.h"
#include "reference/block_mask.h"

namespace attnscope::kernels {

namespace {

/// Tile t visits those in [first(t), past_last(t)) that kept(t) names; all without a block mask.
template <typename First, typename PastLast, typename Kept>
TileLists make_lists(Index tiles, bool has_block_mask, First first, PastLast past_last, Kept kept) {
  constexpr int kEnd = -1;
  TileLists lists(static_cast<std::size_t>(tiles));
  for (Index t = 0; t < tiles; ++t) {
    lists[static_cast<std::size_t>(t)] = static_cast<int>(lists.size());
    const auto begin = static_cast<int>(first(t));
    const auto end = static_cast<int>(past_last(t));
    if (has_block_mask) {
      const std::span<const std::int32_t> all = kept(t);
      const auto from = std::lower_bound(all.begin(), all.end(), begin);
      lists.insert(lists.end(), from, std::lower_bound(from, all.end(), end));
    } else {
      for (int tile = begin; tile < end; ++tile) lists.push_back(tile);
    }
    lists.push_back(kEnd);
  }
  return lists;
}

}  // namespace

TileLists column_tile_lists(const AttentionProblem& problem, const Tiling& tiling) {
  const ForwardShape shape = forward_shape(problem);
  const BlockMask* M = problem.block_mask.get();
  const auto first = [](Index) { return 0; };
  const auto past_last = [&](Index i) {
    const Index last_row = std::min((i + 1) * tiling.Br, problem.N) - 1;
    return ceil_div(shape.keys_end(static_cast<int>(last_row)), tiling.Bc);
  };
  const auto kept = [&](Index i) { return M->columns_of(i); };
  return make_lists(ceil_div(problem.N, tiling.Br), M != nullptr, first, past_last, kept);
}

TileLists row_tile_lists(const AttentionProblem& problem, const Tiling& tiling) {
  const Index Tr = ceil_div(problem.N, tiling.Br);
  const Index diagonal_offset = forward_shape(problem).diagonal_offset;
  const BlockMask* M = problem.block_mask.get();
  const auto first = [&](Index j) {
    const Index row = std::max<Index>(0, j * tiling.Bc - diagonal_offset);
    return row < problem.N ? row / tiling.Br : Tr;
  };
  const auto past_last = [&](Index) { return Tr; };
  const auto kept = [&](Index j) { return M->rows_of(j); };
  return make_lists(ceil_div(problem.N_kv, tiling.Bc), M != nullptr, first, past_last, kept);
}

Index most_list_numbers(const KernelInfo& kernel, const AttentionProblem& problem) {
  const auto numbers = [&](const Tiling& tiling) {
    const Index Tr = ceil_div(problem.N, tiling.Br);
    const Index Tc = ceil_div(problem.N_kv, tiling.Bc);
    const Index visits = problem.block_mask ? problem.block_mask->nonzeros() : Tr * Tc;
    return visits + 2 * std::max(Tr, Tc);  // where each list begins, and the end of each
  };
  if (problem.block_mask) return numbers(problem.block_mask->tiling());
  Index most = 0;
  for (const Tiling& tiling : kernel_tilings(kernel, problem.dtype, problem.d)) {
    most = std::max(most, numbers(tiling));
  }
  return most;
}

}  // namespace attnscope::kernels
