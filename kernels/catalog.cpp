#include "kernels/catalog.h"

#include <algorithm>
#include <array>

namespace attnscope::kernels {

namespace {

constexpr std::array kCatalog{
    KernelInfo{.name = "standard",
               .algorithm = "standard",
               .idea = "S and P are stored in HBM: two cuBLAS products around one fused "
                       "mask-and-softmax kernel",
               .source = "kernels/standard/softmax_forward.cuh",
               .honours_carry = false,
               .has_backward = true,
               .backward_source = "kernels/standard/softmax_gradient.cuh"},
    KernelInfo{.name = "flash1",
               .algorithm = "flash1",
               .idea = "S and P stay on chip; K and V are loaded once, O, m and l travel through "
                       "HBM on every pass over j",
               .source = "kernels/flash1/flash1_forward.cuh",
               .honours_carry = true,
               .has_backward = true,
               .backward_source = "kernels/flash1/flash1_backward.cuh",
               .forward_shape = flash1_forward_shape,
               .backward_shape = flash1_backward_shape},
    KernelInfo{.name = "flash2",
               .algorithm = "flash2",
               .idea = "the loops are swapped: O, m and l stay on chip and every row tile is its "
                       "own thread block",
               .source = "kernels/flash2/flash2_forward.cuh",
               .honours_carry = false,
               .has_backward = true,
               .backward_source = "kernels/flash2/flash2_backward.cuh",
               .has_backward_fp32 = true,
               .forward_shape = flash2_forward_shape,
               .backward_shape = flash2_backward_shape},
    KernelInfo{.name = "block_sparse2",
               .algorithm = "block_sparse2",
               .idea =
                   "flash2's program on the tiles that a block mask keeps: each row tile walks a "
                   "list of its column tiles",
               .source = "kernels/flash2/flash2_forward.cuh",
               .has_backward = true,
               .takes_block_mask = true,
               .backward_source = "kernels/flash2/flash2_backward.cuh",
               .has_fp32 = false,
               .forward_shape = flash2_forward_shape,
               .backward_shape = flash2_backward_shape},
    KernelInfo{.name = "split_kv",
               .algorithm = "split_kv",
               .idea = "for few queries: the keys are cut into splits, each a thread block's; a "
                       "second launch merges their outputs, weighted by their LSE",
               .source = "kernels/split_kv/split_kv_partial.cuh",
               .honours_carry = false,
               .has_backward = false,
               .has_fp32 = false,
               .forward_shape = split_kv_shape},
};

}  // namespace

std::span<const KernelInfo> catalog() {
  return kCatalog;
}

const KernelInfo* find_kernel(std::string_view name) {
  const auto found = std::find_if(kCatalog.begin(), kCatalog.end(),
                                  [&](const KernelInfo& kernel) { return kernel.name == name; });
  return found == kCatalog.end() ? nullptr : &*found;
}

bool takes_pass(const KernelInfo& kernel, PassKind pass, DType dtype) {
  const bool backward = pass == PassKind::backward;
  if (backward && !kernel.has_backward) return false;
  return dtype != DType::fp32 || (backward ? kernel.has_backward_fp32 : kernel.has_fp32);
}

}  // namespace attnscope::kernels
