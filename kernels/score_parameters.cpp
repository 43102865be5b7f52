#include "kernels/score_arrays.h"

#include <algorithm>
#include <span>

#include "reference/block_mask.h"
#include "reference/dropout.h"

namespace attnscope::kernels {

namespace {

/// The divisor of a scaled score.
double score_divisor(const AttentionProblem& problem, ScoreUnit unit) {
  return unit == ScoreUnit::scaled ? 1.0 : problem.softmax_scale();
}

/// No key lies farther from a diagonal than this; sums with it stay in range.
constexpr Index kLongestSide = 2 * kMaxSequenceLength;

int window_side(Index side) {
  return static_cast<int>(std::min(side, kLongestSide));
}

std::vector<int> as_ints(const std::vector<Index>& numbers) {
  return {numbers.begin(), numbers.end()};
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

ScoreParameters score_parameters(const AttentionProblem& problem, ScoreUnit unit) {
  const ScoreFunction& score = problem.score;
  ScoreParameters parameters;
  parameters.window_left = window_side(problem.mask.left);
  parameters.window_right = window_side(problem.mask.right);
  parameters.top_left = problem.mask.alignment == Mask::Alignment::top_left;
  parameters.sequences = problem.is_packed() ? static_cast<int>(problem.sequence_count()) : 0;
  if (score.soft_cap) {
    const double cap = *score.soft_cap / score_divisor(problem, unit);
    parameters.soft_cap = static_cast<float>(cap);
    parameters.inverse_soft_cap = static_cast<float>(1.0 / cap);
  }
  if (score.has_dropout()) {
    parameters.drops = true;
    parameters.dropout_threshold = dropout_threshold(score.dropout.probability);
    parameters.dropout_scale = static_cast<float>(score.dropout.scale());
    parameters.dropout_seed = score.dropout.seed;
    parameters.first_batch = static_cast<std::uint32_t>(score.dropout.first_batch);
    parameters.first_head = static_cast<std::uint32_t>(score.dropout.first_head);
  }
  return parameters;
}

ScoreArrays score_arrays(const AttentionProblem& problem, ScoreUnit unit) {
  ScoreArrays arrays{.cu_seqlens_q = as_ints(problem.cu_seqlens_q),
                     .cu_seqlens_k = as_ints(problem.cu_seqlens_k),
                     .key_lengths = as_ints(problem.key_lengths),
                     .alibi_slopes = {}};
  for (const double slope : problem.score.alibi_slopes) {
    arrays.alibi_slopes.push_back(static_cast<float>(slope / score_divisor(problem, unit)));
  }
  return arrays;
}

std::vector<int> packed_column_tiles(const AttentionProblem& problem, const Tiling& tiling) {
  const BlockMask tiles = packed_tiles(problem, tiling);
  return flat_lists(tiles.row_offsets(), tiles.columns());
}

std::vector<int> packed_row_tiles(const AttentionProblem& problem, const Tiling& tiling) {
  const BlockMask tiles = packed_tiles(problem, tiling);
  return flat_lists(tiles.column_offsets(), tiles.rows());
}

}  // namespace attnscope::kernels
