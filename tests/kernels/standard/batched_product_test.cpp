#include "kernels/standard/batched_product.h"

#include <gtest/gtest.h>

#include <map>
#include <tuple>

namespace attnscope::kernels {
namespace {

TensorView contiguous(Index heads, Index rows, Index d) {
  return {.stride_batch = heads * rows * d, .stride_head = rows * d, .stride_row = d};
}

TensorView interleaved(Index heads, Index rows, Index d) {
  return {.stride_batch = rows * heads * d, .stride_head = d, .stride_row = heads * d};
}

/// Maps the offset of each row of scores to the offsets of its query row and of the keys that this
/// row is multiplied by, as the batches give them.
using RowPlan = std::map<Index, std::pair<Index, Index>>;  // score row -> (query row, keys)

RowPlan plan_of(const AttentionProblem& problem, const TensorView& query, const TensorView& key) {
  RowPlan plan;
  for (const ProductBatch& batch : product_batches(problem, query, key)) {
    for (Index product = 0; product < batch.count; ++product) {
      for (Index row = 0; row < batch.rows; ++row) {
        const Index score = batch.score_offset + product * batch.score_stride + row * problem.N_kv;
        EXPECT_FALSE(plan.contains(score)) << "written twice";
        plan[score] = {batch.query_offset + product * batch.query_stride + row * query.stride_row,
                       batch.key_offset + product * batch.key_stride};
      }
    }
  }
  return plan;
}

RowPlan expected_plan(const AttentionProblem& problem, const TensorView& query,
                      const TensorView& key) {
  RowPlan plan;
  Index score = 0;
  for (Index b = 0; b < problem.batch; ++b) {
    for (Index h = 0; h < problem.heads; ++h) {
      for (Index row = 0; row < problem.N; ++row, score += problem.N_kv) {
        plan[score] = {b * query.stride_batch + h * query.stride_head + row * query.stride_row,
                       b * key.stride_batch + problem.kv_head_of(h) * key.stride_head};
      }
    }
  }
  return plan;
}

AttentionProblem problem_with(Index heads, Index kv_heads) {
  return {.batch = 3, .heads = heads, .kv_heads = kv_heads, .N = 5, .N_kv = 7, .d = 16};
}

TEST(ProductBatches, CoverEveryRowOnceWithItsOwnKeys) {
  for (const auto& [heads, kv_heads] : {std::pair<Index, Index>{4, 4}, {4, 2}, {6, 1}}) {
    const AttentionProblem problem = problem_with(heads, kv_heads);
    for (const auto& query : {contiguous(heads, 5, 16), interleaved(heads, 5, 16)}) {
      for (const auto& key : {contiguous(kv_heads, 7, 16), interleaved(kv_heads, 7, 16)}) {
        EXPECT_EQ(plan_of(problem, query, key), expected_plan(problem, query, key));
      }
    }
  }
}

TEST(ProductBatches, AreOneWhereTheTensorsAreContiguous) {
  EXPECT_EQ(product_batches(problem_with(4, 4), contiguous(4, 5, 16), contiguous(4, 7, 16)).size(),
            1u);
  const auto grouped =
      product_batches(problem_with(4, 2), contiguous(4, 5, 16), contiguous(2, 7, 16));
  ASSERT_EQ(grouped.size(), 1u);
  EXPECT_EQ(grouped.front().rows, 10) << "both heads of a group in one product";
}

}  // namespace
}  // namespace attnscope::kernels
