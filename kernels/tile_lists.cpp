#include "kernels/tile_lists.h"

#include <algorithm>
#include <span>

#include "kernels/default_tilings.h"
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

/// Those of the tiles in packed sequences' lists that kept(t) names; all without a block mask.
template <typename Kept>
TileLists keep_tiles(const TileLists& packed, Index tiles, bool has_block_mask, Kept kept) {
  if (!has_block_mask) return packed;
  TileLists lists(static_cast<std::size_t>(tiles));
  for (Index t = 0; t < tiles; ++t) {
    const auto list = static_cast<std::size_t>(t);
    lists[list] = static_cast<int>(lists.size());
    const std::span<const std::int32_t> all = kept(t);
    auto n = static_cast<std::size_t>(packed[list]);
    for (; packed[n] >= 0; ++n) {
      if (std::binary_search(all.begin(), all.end(), packed[n])) lists.push_back(packed[n]);
    }
    lists.push_back(packed[n]);  // the end
  }
  return lists;
}

/// Batch entries share their lists, whatever their key lengths.
AttentionProblem without_key_lengths(AttentionProblem problem) {
  problem.key_lengths.clear();
  return problem;
}

/// A block mask that keeps the tiles of packed sequences.
BlockMask packed_tiles(const AttentionProblem& problem, const Tiling& tiling) {
  std::vector<Index> row_offsets{0};
  std::vector<std::int32_t> columns;
  Index s = 0;
  for (Index begin = 0; begin < problem.N; begin += tiling.Br) {
    const Index end = std::min(begin + tiling.Br, problem.N);
    while (problem.sequence(s).query_end <= begin) ++s;
    Index next = 0;  // the first column tile that is not listed yet
    for (Index of = s; of < problem.sequence_count(); ++of) {
      const Sequence own = problem.sequence(of);
      const Index first = std::max(begin, own.query_begin);
      const Index last = std::min(end, own.query_end) - 1;
      if (own.query_begin >= end) break;
      if (first > last) continue;
      // One range, because both ends of a query's keys rise with the query
      const KeyRange keys{problem.keys_of(first).begin, problem.keys_of(last).end};
      if (keys.size() == 0) continue;
      for (Index j = std::max(next, keys.begin / tiling.Bc); j * tiling.Bc < keys.end; ++j) {
        columns.push_back(static_cast<std::int32_t>(j));
        next = j + 1;
      }
    }
    row_offsets.push_back(static_cast<Index>(columns.size()));
  }
  return BlockMask(tiling, ceil_div(problem.N_kv, tiling.Bc), std::move(row_offsets),
                   std::move(columns), "packed");
}

/// Number t is the index at which tile t's list begins; each list ends with -1.
std::vector<int> flat_lists(std::span<const Index> offsets, std::span<const std::int32_t> tiles) {
  constexpr int kEnd = -1;
  std::vector<int> lists(offsets.size() - 1);
  for (std::size_t t = 0; t + 1 < offsets.size(); ++t) {
    lists[t] = static_cast<int>(lists.size());
    lists.insert(lists.end(), tiles.begin() + offsets[t], tiles.begin() + offsets[t + 1]);
    lists.push_back(kEnd);
  }
  return lists;
}

}  // namespace

std::vector<int> packed_column_tiles(const AttentionProblem& problem, const Tiling& tiling) {
  const BlockMask tiles = packed_tiles(problem, tiling);
  return flat_lists(tiles.row_offsets(), tiles.columns());
}

std::vector<int> packed_row_tiles(const AttentionProblem& problem, const Tiling& tiling) {
  const BlockMask tiles = packed_tiles(problem, tiling);
  return flat_lists(tiles.column_offsets(), tiles.rows());
}

TileLists column_tile_lists(const AttentionProblem& given, const Tiling& tiling) {
  const AttentionProblem problem = without_key_lengths(given);
  const BlockMask* M = problem.block_mask.get();
  // Both ends of the keys that a row sees rise with the row
  const auto keys_of = [&](Index i) {
    const Index last_row = std::min((i + 1) * tiling.Br, problem.N) - 1;
    return KeyRange{problem.keys_of(i * tiling.Br).begin, problem.keys_of(last_row).end};
  };
  const auto first = [&](Index i) { return keys_of(i).begin / tiling.Bc; };
  const auto past_last = [&](Index i) {
    const KeyRange keys = keys_of(i);
    return keys.size() == 0 ? first(i) : ceil_div(keys.end, tiling.Bc);
  };
  const auto kept = [&](Index i) { return M->columns_of(i); };
  const Index Tr = ceil_div(problem.N, tiling.Br);
  if (problem.is_packed()) {
    return keep_tiles(packed_column_tiles(problem, tiling), Tr, M != nullptr, kept);
  }
  return make_lists(Tr, M != nullptr, first, past_last, kept);
}

TileLists row_tile_lists(const AttentionProblem& problem, const Tiling& tiling) {
  const Index N = problem.N;
  const Index offset = problem.diagonal(0);
  const Mask& mask = problem.mask;
  const BlockMask* M = problem.block_mask.get();
  // Query q sees key k when -left <= k - (q + offset) <= right; no side reaches farther than this
  constexpr Index kLongestSide = 2 * kMaxSequenceLength;
  const auto first_row = [&](Index j) {
    if (mask.right == Mask::kUnlimited) return Index{0};
    return std::clamp<Index>(j * tiling.Bc - std::min(mask.right, kLongestSide) - offset, 0, N);
  };
  const auto past_last_row = [&](Index j) {
    if (mask.left == Mask::kUnlimited) return N;
    const Index past_key = std::min((j + 1) * tiling.Bc, problem.N_kv);
    return std::clamp<Index>(past_key + std::min(mask.left, kLongestSide) - offset, 0, N);
  };
  const auto first = [&](Index j) { return first_row(j) / tiling.Br; };
  const auto past_last = [&](Index j) {
    return past_last_row(j) > first_row(j) ? ceil_div(past_last_row(j), tiling.Br) : first(j);
  };
  const auto kept = [&](Index j) { return M->rows_of(j); };
  const Index Tc = ceil_div(problem.N_kv, tiling.Bc);
  if (problem.is_packed()) {
    return keep_tiles(packed_row_tiles(problem, tiling), Tc, M != nullptr, kept);
  }
  return make_lists(Tc, M != nullptr, first, past_last, kept);
}

Index most_list_numbers(const KernelInfo& kernel, PassKind pass, const AttentionProblem& problem,
                        const std::optional<Tiling>& tiling) {
  const auto numbers = [&](const Tiling& tiles) {
    const Index Tr = ceil_div(problem.N, tiles.Br);
    const Index Tc = ceil_div(problem.N_kv, tiles.Bc);
    const Index visits = problem.block_mask ? problem.block_mask->nonzeros() : Tr * Tc;
    return visits + 2 * std::max(Tr, Tc);  // where each list begins, and the end of each
  };
  if (const auto asked = asked_tiling(problem, tiling)) return numbers(*asked);
  Index most = 0;
  for (const Tiling& own : default_tilings(kernel, pass, problem)) {
    most = std::max(most, numbers(own));
  }
  return most;
}

}  // namespace attnscope::kernels
