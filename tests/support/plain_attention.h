/// Attention by scalar loops over an explicit mask, in long double: slow, and too simple to be
/// wrong. Shares only the tensors with the reference's Eigen code.
#pragma once

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "reference/naive_attention.h"

namespace attnscope::test {

using ExplicitMask = std::function<bool(Index query, Index key)>;

/// The steps on a score and on a probability, by the definition; none by default.
struct ExplicitSteps {
  std::function<long double(long double score, Index h, Index query, Index key)> score =
      [](long double x, Index, Index, Index) { return x; };
  std::function<long double(Index b, Index h, Index query, Index key)> dropout_factor =
      [](Index, Index, Index, Index) { return 1.0L; };
};

inline ForwardResult plain_forward(const AttentionProblem& problem, const AttentionInputs& inputs,
                                   const ExplicitMask& attends, const ExplicitSteps& steps = {}) {
  using Wide = long double;
  const double inf = std::numeric_limits<double>::infinity();
  ForwardResult result{HeadTensor(problem.batch, problem.heads, problem.N, problem.d),
                       HeadTensor(problem.batch, problem.heads, problem.N, 1, -inf)};
  std::vector<Wide> S(static_cast<std::size_t>(problem.N_kv));
  for (Index b = 0; b < problem.batch; ++b) {
    for (Index h = 0; h < problem.heads; ++h) {
      const Index g = h / (problem.heads / problem.kv_heads);
      for (Index q = 0; q < problem.N; ++q) {
        // Scores of the visible keys and their maximum
        Wide m = -std::numeric_limits<Wide>::infinity();
        for (Index k = 0; k < problem.N_kv; ++k) {
          Wide dot = 0;
          for (Index c = 0; c < problem.d; ++c) {
            dot += static_cast<Wide>(inputs.Q.at(b, h, q, c)) * inputs.K.at(b, g, k, c);
          }
          S[static_cast<std::size_t>(k)] =
              steps.score(dot / std::sqrt(static_cast<Wide>(problem.d)), h, q, k);
          if (attends(q, k)) m = std::max(m, S[static_cast<std::size_t>(k)]);
        }
        if (std::isinf(m)) continue;

        // Softmax, and the average of V that it weights
        Wide l = 0;
        std::vector<Wide> O(static_cast<std::size_t>(problem.d), 0);
        for (Index k = 0; k < problem.N_kv; ++k) {
          if (!attends(q, k)) continue;
          const Wide p = std::exp(S[static_cast<std::size_t>(k)] - m);
          l += p;
          const Wide kept = p * steps.dropout_factor(b, h, q, k);
          for (Index c = 0; c < problem.d; ++c) {
            O[static_cast<std::size_t>(c)] += kept * static_cast<Wide>(inputs.V.at(b, g, k, c));
          }
        }
        result.LSE.at(b, h, q, 0) = static_cast<double>(m + std::log(l));
        for (Index c = 0; c < problem.d; ++c) {
          result.O.at(b, h, q, c) = static_cast<double>(O[static_cast<std::size_t>(c)] / l);
        }
      }
    }
  }
  return result;
}

}  // namespace attnscope::test
