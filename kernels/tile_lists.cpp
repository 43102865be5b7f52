#include "kernels/tile_lists.h"

#include <algorithm>
#include <span>

#include "reference/block_mask.h"

namespace attnscope::kernels {

namespace {

/// The tiles with a visible key that the problem's block mask, if any, keeps. All batch entries
/// share them, whatever their key lengths.
BlockMask visited_tiles(AttentionProblem problem, const Tiling& tiling) {
  problem.key_lengths.clear();
  const Index Tr = ceil_div(problem.N, tiling.Br);
  std::vector<Index> row_offsets{0};
  std::vector<std::int32_t> columns;
  const auto add = [&](Index i, Index first, Index past_last) {
    if (problem.block_mask == nullptr) {
      for (Index j = first; j < past_last; ++j) columns.push_back(static_cast<std::int32_t>(j));
      return;
    }
    const auto kept = problem.block_mask->columns_of(i);
    const auto from = std::lower_bound(kept.begin(), kept.end(), first);
    columns.insert(columns.end(), from, std::lower_bound(from, kept.end(), past_last));
  };

  Index s = 0;  // the first sequence with a query in the row tile
  for (Index i = 0; i < Tr; ++i) {
    const Index begin = i * tiling.Br;
    const Index end = std::min(begin + tiling.Br, problem.N);
    while (problem.sequence(s).query_end <= begin) ++s;
    Index next = 0;  // the first column tile after those of earlier sequences
    for (Index of = s; of < problem.sequence_count(); ++of) {
      const Sequence own = problem.sequence(of);
      if (own.query_begin >= end) break;
      const Index first = std::max(begin, own.query_begin);
      const Index last = std::min(end, own.query_end) - 1;
      if (first > last) continue;
      // One range, because both ends of a query's keys increase with the query
      const KeyRange keys{problem.keys_of(first).begin, problem.keys_of(last).end};
      if (keys.size() == 0) continue;
      const Index past_last = ceil_div(keys.end, tiling.Bc);
      add(i, std::max(next, keys.begin / tiling.Bc), past_last);
      next = std::max(next, past_last);
    }
    row_offsets.push_back(static_cast<Index>(columns.size()));
  }
  return BlockMask(tiling, ceil_div(problem.N_kv, tiling.Bc), std::move(row_offsets),
                   std::move(columns), "visited");
}

TileLists lists_of(std::span<const Index> offsets, std::span<const std::int32_t> tiles) {
  constexpr int kEnd = -1;
  TileLists lists(offsets.size() - 1);
  for (std::size_t t = 0; t + 1 < offsets.size(); ++t) {
    lists[t] = static_cast<int>(lists.size());
    lists.insert(lists.end(), tiles.begin() + offsets[t], tiles.begin() + offsets[t + 1]);
    lists.push_back(kEnd);
  }
  return lists;
}

}  // namespace

TileLists column_tile_lists(const AttentionProblem& problem, const Tiling& tiling) {
  const BlockMask visited = visited_tiles(problem, tiling);
  return lists_of(visited.row_offsets(), visited.columns());
}

TileLists row_tile_lists(const AttentionProblem& problem, const Tiling& tiling) {
  const BlockMask visited = visited_tiles(problem, tiling);
  return lists_of(visited.column_offsets(), visited.rows());
}

Index most_list_numbers(const AttentionProblem& problem, const Tiling& tiling) {
  const Index Tr = ceil_div(problem.N, tiling.Br);
  const Index Tc = ceil_div(problem.N_kv, tiling.Bc);
  const Index visits = problem.block_mask ? problem.block_mask->nonzeros() : Tr * Tc;
  // The beginning of each list, and the end of each
  return visits + 2 * std::max(Tr, Tc);
}

}  // namespace attnscope::kernels
