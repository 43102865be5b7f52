#include "tests/kernels/online_states.h"

#include <algorithm>
#include <cmath>

#include "reference/block_mask.h"

namespace attnscope::test {

namespace {

KeyRange intersection(const KeyRange& a, const KeyRange& b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

/// The score of a key before the mask.
double score(const AttentionProblem& problem, const AttentionInputs& inputs, const TracedRow& row,
             Index key) {
  double sum = 0.0;
  for (Index c = 0; c < problem.d; ++c) {
    sum += inputs.Q.at(row.batch, row.head, row.row, c) *
           inputs.K.at(row.batch, problem.kv_head_of(row.head), key, c);
  }
  double s = sum * problem.softmax_scale();
  if (problem.score.soft_cap) s = *problem.score.soft_cap * std::tanh(s / *problem.score.soft_cap);
  if (problem.score.has_alibi()) s += problem.alibi_bias(row.head, row.row, key);
  return s;
}

/// Whether some row of the row tile that contains `row` sees a key of column tile j, whose keys are
/// `tile`.
bool is_visited(const AttentionProblem& problem, const TracedRow& row, Index Br, Index j,
                const KeyRange& tile) {
  const Index i = row.row / Br;
  if (problem.block_mask && !problem.block_mask->contains(i, j)) return false;
  for (Index query = i * Br; query < std::min((i + 1) * Br, problem.N); ++query) {
    if (intersection(problem.keys_of(query, row.batch), tile).size() > 0) return true;
  }
  return false;
}

}  // namespace

std::vector<std::optional<OnlineState>> online_states(const AttentionProblem& problem,
                                                      const AttentionInputs& inputs,
                                                      const TracedRow& row, const Tiling& tiling,
                                                      const Sweep& sweep) {
  const OnlineState start{-INFINITY, 0.0, 1.0};
  const Index Tc = ceil_div(problem.N_kv, tiling.Bc);
  const Index tiles_of_split = ceil_div(Tc, sweep.splits);
  const Index part_keys = tiling.Bc / sweep.parts;
  OnlineState state = start;
  std::vector<std::optional<OnlineState>> states;
  for (Index j = 0; j < Tc; ++j) {
    if (j % tiles_of_split == 0) state = start;
    const KeyRange tile{j * tiling.Bc, std::min((j + 1) * tiling.Bc, problem.N_kv)};
    if (!is_visited(problem, row, tiling.Br, j, tile)) {
      states.emplace_back();
      continue;
    }
    const Index first_key = tile.begin + sweep.part * part_keys;
    const KeyRange part = intersection({first_key, first_key + part_keys}, tile);
    const KeyRange seen = intersection(problem.keys_of(row.row, row.batch), part);
    std::vector<double> scores;
    for (Index key = seen.begin; key < seen.end; ++key) {
      scores.push_back(score(problem, inputs, row, key));
    }
    const double m_prev = state.m;
    for (const double s : scores) state.m = std::max(state.m, s);
    state.alpha = m_prev == state.m ? 1.0 : std::exp(m_prev - state.m);
    state.l *= state.alpha;
    for (const double s : scores) state.l += std::exp(s - state.m);
    states.emplace_back(state);
  }
  return states;
}

}  // namespace attnscope::test
