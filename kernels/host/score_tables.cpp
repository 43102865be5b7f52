#include "kernels/host/score_tables.h"

namespace attnscope::kernels {

template <typename Element>
const Element* LaunchTables::upload(const std::vector<Element>& elements) {
  if (elements.empty()) return nullptr;
  held_.push_back(tables_.find_or_upload(elements.data(), elements.size() * sizeof(Element)));
  return static_cast<const Element*>(held_.back()->data_dev());
}

ScoreParameters LaunchTables::scores(const AttentionProblem& problem, ScoreUnit unit) {
  const ScoreArrays arrays = score_arrays(problem, unit);
  ScoreParameters parameters = score_parameters(problem, unit);
  parameters.cu_seqlens_q = upload(arrays.cu_seqlens_q);
  parameters.cu_seqlens_k = upload(arrays.cu_seqlens_k);
  parameters.key_lengths = upload(arrays.key_lengths);
  parameters.alibi_slopes = upload(arrays.alibi_slopes);
  return parameters;
}

const int* LaunchTables::lists(const std::vector<int>& lists) {
  return upload(lists);
}

}  // namespace attnscope::kernels
