/// Strided batches of products compute every head once.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "kernels/kernel_parameters.h"

namespace attnscope::kernels {
namespace {

constexpr Index kBatch = 3, kN = 5, kKeys = 7, kD = 4;

enum class Layout { contiguous, interleaved, padded_rows, padded_heads, padded_entries };
constexpr Layout kLayouts[] = {Layout::contiguous, Layout::interleaved, Layout::padded_rows,
                               Layout::padded_heads, Layout::padded_entries};

/// An fp32 tensor [kBatch, heads, rows, columns] of small integers, whose products are exact.
struct Tensor {
  Tensor(Layout layout, Index heads, Index rows, Index columns)
      : matrices{contiguous_view(nullptr, heads, rows, columns), kBatch, heads, rows, columns} {
    TensorView& view = matrices.view;
    if (layout == Layout::interleaved) {
      view.stride_head = columns;
      view.stride_row = heads * columns;
    }
    if (layout == Layout::padded_rows) view = contiguous_view(nullptr, heads, rows, columns + 2);
    if (layout == Layout::padded_heads) {
      view.stride_head += 3;
      view.stride_batch = heads * view.stride_head;
    }
    if (layout == Layout::padded_entries) view.stride_batch += 4;
    elements.resize(static_cast<std::size_t>(kBatch * view.stride_batch));
    for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<float>(i % 11 + 1);
    view.data_dev = elements.data();
  }
  Tensor(const Tensor&) = delete;  // the view points to its own elements
  Tensor& operator=(const Tensor&) = delete;

  std::vector<float> elements;
  HeadMatrices matrices;
};

float& element(const HeadMatrices& matrices, Index entry, Index head, Index row, Index column) {
  if (matrices.transposed) std::swap(row, column);
  const TensorView& view = matrices.view;
  return static_cast<float*>(view.data_dev)[entry * view.stride_batch + head * view.stride_head +
                                            row * view.stride_row + column];
}

/// Adds the product of one head to its result.
void add_product(const HeadProduct& product, Index entry, Index head, Index right_head) {
  const auto& [result, left, right] = product;
  for (Index row = 0; row < result.rows; ++row) {
    for (Index column = 0; column < result.columns; ++column) {
      for (Index k = 0; k < (left.transposed ? left.rows : left.columns); ++k) {
        element(result, entry, head, row, column) +=
            element(left, entry, head, row, k) * element(right, entry, right_head, k, column);
      }
    }
  }
}

/// Checks that the batches add the product of every head to its result once, and nothing else.
void check_batches(Tensor& result, const HeadMatrices& left, const HeadMatrices& right) {
  const HeadProduct product{result.matrices, left, right};
  const std::vector<float> before = result.elements;
  for (Index entry = 0; entry < kBatch; ++entry) {
    for (Index head = 0; head < left.heads; ++head) {
      add_product(product, entry, head, head * right.heads / left.heads);
    }
  }
  const std::vector<float> expected = result.elements;
  std::ranges::copy(before, result.elements.begin());
  for (const HeadProduct& batch : strided_batches(product, DType::fp32)) {
    for (Index p = 0; p < batch.result.heads; ++p) {
      add_product(batch, 0, p, p);  // as cuBLAS does: p strides after the first matrices
    }
  }
  EXPECT_EQ(result.elements, expected);
  std::ranges::copy(before, result.elements.begin());  // sums of several products are not exact
}

TEST(StridedBatches, AreTheProductsOfStandardAttentionInEveryLayout) {
  for (const auto& [heads, kv_heads] : {std::pair<Index, Index>{4, 4}, {4, 2}, {6, 1}}) {
    Tensor scores(Layout::contiguous, heads, kN, kKeys);
    for (const Layout of_queries : kLayouts) {
      Tensor queries(of_queries, heads, kN, kD);
      for (const Layout of_keys : kLayouts) {
        SCOPED_TRACE(testing::Message() << heads << " heads, " << kv_heads << " KV heads, layouts "
                                        << int(of_queries) << " and " << int(of_keys));
        const Tensor keys(of_keys, kv_heads, kKeys, kD);
        Tensor key_gradients(of_keys, heads, kKeys, kD);
        check_batches(scores, queries.matrices, transposed(keys.matrices));
        check_batches(queries, scores.matrices, keys.matrices);
        check_batches(key_gradients, transposed(scores.matrices), queries.matrices);
      }
    }
  }
}

/// The batches of S = Q K^T.
std::vector<HeadProduct> score_batches(Layout layout, Index heads, Index kv_heads) {
  const Tensor scores(Layout::contiguous, heads, kN, kKeys), queries(layout, heads, kN, kD),
      keys(layout, kv_heads, kKeys, kD);
  return strided_batches({scores.matrices, queries.matrices, transposed(keys.matrices)},
                         DType::fp32);
}

TEST(StridedBatches, AreOneWhereTheTensorsAreContiguous) {
  EXPECT_EQ(score_batches(Layout::contiguous, 4, 4).size(), 1u);
  const auto grouped = score_batches(Layout::contiguous, 4, 2);
  ASSERT_EQ(grouped.size(), 1u);
  EXPECT_EQ(grouped.front().result.rows, 2 * kN) << "both heads of a group in one product";
}

TEST(StridedBatches, AreOnePerEntryOrGroupOtherwise) {
  EXPECT_EQ(score_batches(Layout::padded_heads, 4, 4).size(), 1u) << "one stride for all heads";
  EXPECT_EQ(score_batches(Layout::padded_entries, 4, 4).size(), std::size_t{kBatch});
  EXPECT_EQ(score_batches(Layout::padded_entries, 4, 2).size(), std::size_t{kBatch});
  const auto grouped = score_batches(Layout::interleaved, 4, 2);
  ASSERT_EQ(grouped.size(), std::size_t{kBatch * 2});
  EXPECT_EQ(grouped.front().right.view.stride_head, 0) << "a group's heads share its keys";
}

}  // namespace
}  // namespace attnscope::kernels
