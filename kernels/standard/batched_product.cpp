#include "kernels/kernel_parameters.h"

#include <cstddef>

namespace attnscope::kernels {

std::vector<HeadProduct> strided_batches(HeadProduct product, DType dtype) {
  auto& [result, left, right] = product;
  Index batch = result.batch;
  // Batch entries that continue the stride of the heads are further heads
  const auto continues_heads = [](const HeadMatrices& each) {
    return each.view.stride_batch == each.heads * each.view.stride_head;
  };
  if (continues_heads(result) && continues_heads(left) && continues_heads(right)) {
    for (HeadMatrices* each : {&result, &left, &right}) each->heads *= batch;
    batch = 1;
  }

  // Heads that share one of `right` and continue the stride of the rows are further rows
  const Index group = result.heads / right.heads;
  const auto continues_rows = [](const HeadMatrices& each) {
    return each.view.stride_head == each.rows * each.view.stride_row;
  };
  if (group > 1 && continues_rows(result) && continues_rows(left)) {
    for (HeadMatrices* each : {&result, &left}) {
      each->heads /= group;
      each->rows *= group;
      each->view.stride_head *= group;
    }
  }

  // A batch for each entry; if heads still share one of `right`, for each group of them
  const Index groups = result.heads > right.heads ? right.heads : 1;
  std::vector<HeadProduct> batches;
  for (Index entry = 0; entry < batch; ++entry) {
    for (Index g = 0; g < groups; ++g) {
      HeadProduct& added = batches.emplace_back(product);
      for (HeadMatrices* each : {&added.result, &added.left, &added.right}) {
        TensorView& view = each->view;
        each->batch = 1;
        each->heads /= groups;
        const Index offset = entry * view.stride_batch + g * each->heads * view.stride_head;
        view.data_dev = static_cast<std::byte*>(view.data_dev) + offset * size_bytes(dtype);
      }
      if (added.result.heads > added.right.heads) added.right.view.stride_head = 0;
    }
  }
  return batches;
}

}  // namespace attnscope::kernels
