#include "kernels/tile_lists.h"

#include <algorithm>

#include "reference/block_mask.h"

namespace attnscope::kernels {

namespace {

/// For each row tile (or column tile), the column tiles (or row tiles) in its list.
using Visits = std::vector<std::vector<int>>;

/// The tiles with a visible key that the problem's block mask, if any, keeps. All batch entries
/// share them, whatever their key lengths.
Visits visited_columns(AttentionProblem problem, const Tiling& tiling) {
  problem.key_lengths.clear();
  Visits visits(static_cast<std::size_t>(ceil_div(problem.N, tiling.Br)));
  for (Index s = 0; s < problem.sequence_count(); ++s) {
    const Index end = problem.sequence(s).query_end;
    for (Index first = problem.sequence(s).query_begin, last = 0; first < end; first = last + 1) {
      const Index i = first / tiling.Br;
      last = std::min((i + 1) * tiling.Br, end) - 1;
      // One range, because both ends of a query's keys increase with the query
      const KeyRange keys{problem.keys_of(first).begin, problem.keys_of(last).end};
      if (keys.size() == 0) continue;

      // Those after the last tile of the earlier sequences
      std::vector<int>& columns = visits[static_cast<std::size_t>(i)];
      const Index after_last = columns.empty() ? 0 : columns.back() + 1;
      const Index past_last = ceil_div(keys.end, tiling.Bc);
      const Index next = std::min(std::max(after_last, keys.begin / tiling.Bc), past_last);
      if (problem.block_mask == nullptr) {
        for (Index j = next; j < past_last; ++j) columns.push_back(static_cast<int>(j));
      } else {
        const auto kept = problem.block_mask->columns_of(i);
        columns.insert(columns.end(), std::ranges::lower_bound(kept, next),
                       std::ranges::lower_bound(kept, past_last));
      }
    }
  }
  return visits;
}

TileLists lists_of(const Visits& visits) {
  constexpr int kEnd = -1;
  TileLists lists(visits.size());
  for (std::size_t t = 0; t < visits.size(); ++t) {
    lists[t] = static_cast<int>(lists.size());
    lists.insert(lists.end(), visits[t].begin(), visits[t].end());
    lists.push_back(kEnd);
  }
  return lists;
}

}  // namespace

TileLists column_tile_lists(const AttentionProblem& problem, const Tiling& tiling) {
  return lists_of(visited_columns(problem, tiling));
}

TileLists row_tile_lists(const AttentionProblem& problem, const Tiling& tiling) {
  Visits rows(static_cast<std::size_t>(ceil_div(problem.N_kv, tiling.Bc)));
  int i = 0;
  for (const std::vector<int>& columns : visited_columns(problem, tiling)) {
    for (const int j : columns) rows[static_cast<std::size_t>(j)].push_back(i);
    ++i;
  }
  return lists_of(rows);
}

}  // namespace attnscope::kernels
