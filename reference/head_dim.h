/// The head dimensions that tensor-core kernels compute with.
#pragma once

#include "reference/attention_problem.h"

namespace attnscope {

/// The widest head dimension that a fused kernel takes.
inline constexpr Index kMaxKernelHeadDim = 256;

/// The width that tiles have on chip in a tensor-core kernel: the next of 16, 32, 64, 96, 128, 192,
/// 256 (then of multiples of 64), as in flash-attention. Columns beyond d are zero and never
/// transferred.
constexpr Index padded_head_dim(Index d) {
  if (d <= 32) return d <= 16 ? 16 : 32;
  const Index multiple = d <= 64 ? 64 : (d <= 128 ? 32 : 64);
  return (d + multiple - 1) / multiple * multiple;
}

}  // namespace attnscope
