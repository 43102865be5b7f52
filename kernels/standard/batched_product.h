/// The two matrix products of standard attention as strided batches of row-major products.
/// Internal.
#pragma once

#include <vector>

#include "kernels/tensor_view.cuh"
#include "reference/attention_problem.h"

namespace attnscope::kernels {

/// `count` products of equal shape: the left and result matrices have `rows` rows; the operands of
/// product p are p strides (in elements) after those of product 0.
struct ProductBatch {
  Index rows = 0;
  Index count = 0;
  Index query_offset = 0, query_stride = 0;  ///< of Q or O
  Index key_offset = 0, key_stride = 0;      ///< of K or V
  Index score_offset = 0, score_stride = 0;  ///< of S or P
};

/// Splits a problem into as few batches as its strides allow, without copying. `query` is Q or O,
/// `key` is K or V; the scores are contiguous [B, H, N, N_kv].
///
/// One head per KV head: one product per head. Grouped heads whose rows are contiguous are one
/// product with heads_per_kv_head * N rows; else K or V has stride 0 within a group.
std::vector<ProductBatch> product_batches(const AttentionProblem& problem, const TensorView& query,
                                          const TensorView& key);

}  // namespace attnscope::kernels
