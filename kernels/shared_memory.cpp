#include "kernels/shared_memory.h"

#include "kernels/flash1/flash1_backward_shared.h"
#include "kernels/flash1/flash1_forward_shared.h"
#include "kernels/flash2/flash2_backward_shared.h"
#include "kernels/flash2/flash2_forward_shared.h"
#include "kernels/split_kv/split_kv_shared.h"
#include "reference/head_dim.h"

namespace attnscope::kernels {

Index forward_shared_bytes(const KernelInfo& kernel, DType dtype, Index d, const Tiling& tiling) {
  const Index width = padded_head_dim(d);
  if (kernel.name == "standard") return 0;
  if (dtype == DType::fp32) return flash2_forward_fp32_shared_bytes(width, tiling);
  if (kernel.name == "flash1") return flash1_forward_shared_bytes(width, tiling);
  if (kernel.name == "split_kv") return split_kv_shared_bytes(width, tiling);
  return flash2_forward_shared_bytes(width, tiling);
}

Index backward_shared_bytes(const KernelInfo& kernel, DType dtype, Index d, const Tiling& tiling) {
  const Index width = padded_head_dim(d);
  if (kernel.name == "standard") return 0;
  if (dtype == DType::fp32) return flash2_backward_fp32_shared_bytes(width, tiling);
  if (kernel.name == "flash1") return flash1_backward_shared_bytes(width, tiling);
  return flash2_backward_shared_bytes(width, tiling);
}

}  // namespace attnscope::kernels
