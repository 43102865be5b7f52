#include "app/panels/tile_visits.h"

#include <algorithm>
#include <vector>

#include "reference/block_mask.h"

namespace attnscope::app {

namespace {

/// For each column tile, whether a row of [first_row, past_row) sees a key of it.
std::vector<bool> column_tiles_seen(const AttentionProblem& problem, const Tiling& tiling,
                                    Index first_row, Index past_row, Index b) {
  std::vector<bool> seen(static_cast<std::size_t>(ceil_div(problem.N_kv, tiling.Bc)), false);
  KeyRange previous;
  for (Index row = first_row; row < past_row; ++row) {
    const KeyRange keys = problem.keys_of(row, b);
    if (keys == previous || keys.size() == 0) continue;
    previous = keys;
    for (Index j = keys.begin / tiling.Bc; j * tiling.Bc < keys.end; ++j) {
      seen[static_cast<std::size_t>(j)] = true;
    }
  }
  return seen;
}

}  // namespace

Visits count_visits(const AttentionProblem& problem, const Tiling& tiling, Index b,
                    bool skips_padded_keys) {
  const Index Tc = ceil_div(problem.N_kv, tiling.Bc);
  const Index key_end = skips_padded_keys && problem.has_key_lengths()
                            ? problem.key_lengths[static_cast<std::size_t>(b)]
                            : problem.N_kv;
  const auto keys_of_tile = [&](Index j) {
    return std::max<Index>(0, std::min((j + 1) * tiling.Bc, key_end) - j * tiling.Bc);
  };
  std::vector<bool> seen(static_cast<std::size_t>(Tc), false);
  std::vector<bool> in_band = seen;
  Visits visits;
  for (Index i = 0; i * tiling.Br < problem.N; ++i) {
    const Index first_row = i * tiling.Br;
    const Index past_row = std::min(first_row + tiling.Br, problem.N);
    const std::vector<bool> of_rows = column_tiles_seen(problem, tiling, first_row, past_row, b);
    for (Index j = 0; j < Tc; ++j) {
      if (!of_rows[static_cast<std::size_t>(j)]) continue;
      in_band[static_cast<std::size_t>(j)] = true;
      if (problem.block_mask != nullptr && !problem.block_mask->contains(i, j)) continue;
      seen[static_cast<std::size_t>(j)] = true;
      visits.keys += keys_of_tile(j);
      visits.rows += past_row - first_row;
    }
  }
  for (Index j = 0; j < Tc; ++j) {
    if (seen[static_cast<std::size_t>(j)]) visits.keys_seen += keys_of_tile(j);
    if (in_band[static_cast<std::size_t>(j)]) visits.keys_in_band += keys_of_tile(j);
  }
  return visits;
}

}  // namespace attnscope::app
