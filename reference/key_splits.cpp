#include "reference/key_splits.h"

#include <algorithm>
#include <cmath>

namespace attnscope {

namespace {

constexpr double kGoodEnough = 0.85;

Index row_tile_blocks(const AttentionProblem& problem, const Tiling& tiling) {
  return problem.batch * problem.heads * ceil_div(problem.N, tiling.Br);
}

/// Whether the thread blocks fill the SMs without splitting.
bool fills(Index blocks, Index sm_count) {
  return 5 * blocks >= 4 * sm_count;
}

}  // namespace

Index split_count(const AttentionProblem& problem, const Tiling& tiling, Index sm_count) {
  const Index blocks = row_tile_blocks(problem, tiling);
  if (fills(blocks, sm_count)) return 1;

  // The occupancy of the SMs over all waves of thread blocks
  const auto fullness = [&](Index splits) {
    const double waves = static_cast<double>(blocks * splits) / static_cast<double>(sm_count);
    return waves / std::ceil(waves);
  };
  const Index Tc = ceil_div(problem.N_kv, tiling.Bc);
  const Index most = std::min({kMostSplits, sm_count, Tc});
  double best = 0.0;
  for (Index splits = 1; splits <= most; ++splits) best = std::max(best, fullness(splits));
  for (Index splits = 1; splits <= most; ++splits) {
    // Of two counts with equally long splits, the smaller has no empty split
    const bool shorter = splits == 1 || ceil_div(Tc, splits) < ceil_div(Tc, splits - 1);
    if (shorter && fullness(splits) >= kGoodEnough * best) return splits;
  }
  return 1;
}

Index most_splits(const AttentionProblem& problem, const Tiling& tiling) {
  constexpr Index kMostSms = 512;  // more than any GPU has
  if (fills(row_tile_blocks(problem, tiling), kMostSms)) return 1;
  return std::min(kMostSplits, ceil_div(problem.N_kv, tiling.Bc));
}

}  // namespace attnscope
