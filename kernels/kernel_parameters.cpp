#include "kernels/kernel_parameters.h"

#include <algorithm>
#include <numbers>
#include <vector>

#include "reference/dropout.h"

namespace attnscope::kernels {

namespace {

/// The numbers, each divided by the divisor, in memory that the kernels read.
template <typename Element, typename Number>
const Element* uploaded(const std::vector<Number>& numbers, const Upload& upload,
                        double divisor = 1) {
  std::vector<Element> elements;
  for (const Number number : numbers) {
    elements.push_back(static_cast<Element>(static_cast<double>(number) / divisor));
  }
  return static_cast<const Element*>(upload(std::as_bytes(std::span(elements))));
}

}  // namespace

ForwardShape forward_shape(const AttentionProblem& problem) {
  const Index offset = problem.mask.is_none() ? problem.N_kv : problem.diagonal(0);
  return {.heads = static_cast<int>(problem.heads),
          .heads_per_kv_head = static_cast<int>(problem.heads_per_kv_head()),
          .N = static_cast<int>(problem.N),
          .N_kv = static_cast<int>(problem.N_kv),
          .d = static_cast<int>(problem.d),
          .diagonal_offset = static_cast<int>(offset),
          .softmax_scale = static_cast<float>(problem.softmax_scale()),
          .softmax_scale_log2 = static_cast<float>(problem.softmax_scale() * std::numbers::log2e)};
}

TensorView contiguous_view(void* data_dev, Index heads, Index rows, Index columns) {
  return {.data_dev = data_dev,
          .stride_batch = heads * rows * columns,
          .stride_head = rows * columns,
          .stride_row = columns};
}

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

ScoreParameters score_parameters(const AttentionProblem& problem, ScoreUnit unit,
                                 const Upload& upload) {
  // No key is farther from a diagonal than this; sums with it do not overflow
  constexpr Index kLongestSide = 2 * kMaxSequenceLength;
  const double divisor = unit == ScoreUnit::scaled ? 1.0 : problem.softmax_scale();
  const ScoreFunction& score = problem.score;
  ScoreParameters parameters;
  parameters.window_left = static_cast<int>(std::min(problem.mask.left, kLongestSide));
  parameters.window_right = static_cast<int>(std::min(problem.mask.right, kLongestSide));
  parameters.top_left = problem.mask.alignment == Mask::Alignment::top_left;
  parameters.sequences = problem.is_packed() ? static_cast<int>(problem.sequence_count()) : 0;
  if (score.soft_cap) {
    const double cap = *score.soft_cap / divisor;
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
  parameters.cu_seqlens_q = uploaded<int>(problem.cu_seqlens_q, upload);
  parameters.cu_seqlens_k = uploaded<int>(problem.cu_seqlens_k, upload);
  parameters.key_lengths = uploaded<int>(problem.key_lengths, upload);
  parameters.alibi_slopes = uploaded<float>(score.alibi_slopes, upload, divisor);
  return parameters;
}

}  // namespace attnscope::kernels
