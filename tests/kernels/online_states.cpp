#include "tests/kernels/online_states.h"

#include <algorithm>
#include <cmath>

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

/// Some row of the row tile that holds `row` sees a key of `tile`.
bool is_visited(const AttentionProblem& problem, const TracedRow& row, Index Br,
                const KeyRange& tile) {
  const Index begin = row.row / Br * Br;
  for (Index query = begin; query < std::min(begin + Br, problem.N); ++query) {
    if (intersection(problem.keys_of(query, row.batch), tile).size() > 0) return true;
  }
  return false;
}

}  // namespace

std::vector<std::optional<OnlineState>> online_states(const AttentionProblem& problem,
                                                      const AttentionInputs& inputs,
                                                      const TracedRow& row, const Tiling& tiling) {
  OnlineState state{-INFINITY, 0.0, 1.0};
  std::vector<std::optional<OnlineState>> states;
  for (Index begin = 0; begin < problem.N_kv; begin += tiling.Bc) {
    const KeyRange tile{begin, std::min(begin + tiling.Bc, problem.N_kv)};
    if (!is_visited(problem, row, tiling.Br, tile)) {
      states.emplace_back();
      continue;
    }
    const KeyRange seen = intersection(problem.keys_of(row.row, row.batch), tile);
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
