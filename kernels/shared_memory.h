/// Dynamic shared memory of one thread block of a kernel's tile launch, from which the default
/// tiling of a GPU follows. Plain C++: the kernels are started with as much.
#pragma once

#include "kernels/catalog.h"

namespace attnscope::kernels {

/// Bytes for a plain or causal mask, with what travels through HBM in the problem's precision; 0
/// for `standard`, whose cuBLAS looks after itself.
Index forward_shared_bytes(const KernelInfo& kernel, DType dtype, Index d, const Tiling& tiling);
/// The same of the backward pass.
Index backward_shared_bytes(const KernelInfo& kernel, DType dtype, Index d, const Tiling& tiling);

}  // namespace attnscope::kernels
