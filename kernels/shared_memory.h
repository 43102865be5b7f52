/// Dynamic shared memory of one thread block of a kernel's tile launch, which determines the
/// default tiling of a GPU. Plain C++: the kernels are started with this much.
#pragma once

#include "kernels/catalog.h"

namespace attnscope::kernels {

/// Bytes for no mask or a causal one, with O (dQ) in HBM in the problem's precision; 0 for
/// `standard`, where cuBLAS chooses.
Index forward_shared_bytes(const KernelInfo& kernel, DType dtype, Index d, const Tiling& tiling);
/// The same for the backward pass.
Index backward_shared_bytes(const KernelInfo& kernel, DType dtype, Index d, const Tiling& tiling);

}  // namespace attnscope::kernels
