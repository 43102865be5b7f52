#include "kernels/standard/batched_product.h"

#include <limits>

namespace attnscope::kernels {

namespace {

/// Whether batch entries continue the stride of the heads, so that both axes form one.
bool batch_continues_heads(const TensorView& tensor, Index heads) {
  return tensor.stride_batch == heads * tensor.stride_head;
}

}  // namespace

std::vector<ProductBatch> product_batches(const AttentionProblem& problem, const TensorView& query,
                                          const TensorView& key) {
  const Index group = problem.heads_per_kv_head();
  const Index head_scores = problem.N * problem.N_kv;
  const bool one_axis = problem.batch == 1 || (batch_continues_heads(query, problem.heads) &&
                                               batch_continues_heads(key, problem.kv_heads));
  const bool group_is_one_product =
      group == 1 || (query.stride_head == problem.N * query.stride_row &&
                     group * problem.N <= std::numeric_limits<int>::max());

  std::vector<ProductBatch> batches;
  for (Index b = 0; b < (one_axis ? 1 : problem.batch); ++b) {
    const Index kv_heads = problem.kv_heads * (one_axis ? problem.batch : 1);
    const ProductBatch whole{.rows = group * problem.N,
                             .count = kv_heads,
                             .query_offset = b * query.stride_batch,
                             .query_stride = group * query.stride_head,
                             .key_offset = b * key.stride_batch,
                             .key_stride = key.stride_head,
                             .score_offset = b * problem.heads * head_scores,
                             .score_stride = group * head_scores};
    if (group_is_one_product) {
      batches.push_back(whole);
      continue;
    }
    for (Index kv_head = 0; kv_head < kv_heads; ++kv_head) {
      batches.push_back({.rows = problem.N,
                         .count = group,
                         .query_offset = whole.query_offset + kv_head * whole.query_stride,
                         .query_stride = query.stride_head,
                         .key_offset = whole.key_offset + kv_head * whole.key_stride,
                         .key_stride = 0,
                         .score_offset = whole.score_offset + kv_head * whole.score_stride,
                         .score_stride = head_scores});
    }
  }
  return batches;
}

}  // namespace attnscope::kernels
