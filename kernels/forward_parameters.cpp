#include "kernels/forward_parameters.h"

#include "reference/attention_problem.h"

#include <numbers>

namespace attnscope::kernels {

ForwardShape forward_shape(const AttentionProblem& problem) {
  ForwardShape shape;
  shape.heads = static_cast<int>(problem.heads);
  shape.heads_per_kv_head = static_cast<int>(problem.heads_per_kv_head());
  shape.N = static_cast<int>(problem.N);
  shape.N_kv = static_cast<int>(problem.N_kv);
  shape.d = static_cast<int>(problem.d);
  shape.diagonal_offset =
      static_cast<int>(problem.mask.is_none() ? problem.N_kv : problem.diagonal(0));
  shape.softmax_scale = static_cast<float>(problem.softmax_scale());
  shape.softmax_scale_log2 = static_cast<float>(problem.softmax_scale() * std::numbers::log2e);
  return shape;
}

}  // namespace attnscope::kernels
