#include "kernels/score_features.h"

#include "reference/attention_problem.h"

namespace attnscope::kernels {

ScoreFeatures score_features(const AttentionProblem& problem) {
  const bool plain_mask = problem.mask.is_none() || problem.mask.is_causal();
  return {.key_ranges = !plain_mask || problem.has_key_lengths() || problem.is_packed(),
          .soft_cap = problem.score.soft_cap.has_value(),
          .alibi = problem.score.has_alibi(),
          .dropout = problem.score.has_dropout()};
}

ScoreFeatures flash1_backward_features(const AttentionProblem& problem) {
  ScoreFeatures features = score_features(problem);
  features.key_ranges = features.any();
  return features;
}

}  // namespace attnscope::kernels
