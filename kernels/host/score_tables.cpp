#include "kernels/host/score_tables.h"

#include "kernels/host/device_table.h"

namespace attnscope::kernels {

namespace {

template <typename Element>
const Element* uploaded(const std::vector<Element>& elements) {
  return device_table(std::span<const Element>(elements));
}

}  // namespace

ScoreParameters device_scores(const AttentionProblem& problem, ScoreUnit unit) {
  const ScoreArrays arrays = score_arrays(problem, unit);
  ScoreParameters parameters = score_parameters(problem, unit);
  parameters.cu_seqlens_q = uploaded(arrays.cu_seqlens_q);
  parameters.cu_seqlens_k = uploaded(arrays.cu_seqlens_k);
  parameters.key_lengths = uploaded(arrays.key_lengths);
  parameters.alibi_slopes = uploaded(arrays.alibi_slopes);
  return parameters;
}

const int* device_lists(const std::vector<int>& lists) {
  return uploaded(lists);
}

}  // namespace attnscope::kernels
