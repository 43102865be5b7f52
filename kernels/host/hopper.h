/// Hopper's own instructions, sm_90a: which GPU runs them, and how their bulk copies find a tensor.
/// Only for .cu files and what starts them.
#pragma once

#include <cuda.h>

#include "kernels/forward_shape.h"
#include "kernels/launch.h"

namespace attnscope::kernels {

/// The current GPU is of compute capability 9.0. Throws CudaError.
bool gpu_is_hopper();

/// How bulk copies find the tensors of a problem of 16-bit elements, [B, H, N, d] or
/// [B, H_kv, N_kv, d]: in boxes of so many rows and 64 columns, swizzled as device::PanelTile has
/// them, as the driver encodes it. d is a multiple of 8. Members throw CudaError when the driver
/// cannot.
class TensorMaps {
 public:
  TensorMaps(const ForwardShape& shape, Index batch) : shape_(shape), batch_(batch) {}

  CUtensorMap rows(const TensorView& tensor, Index box_rows) const;
  CUtensorMap columns(const TensorView& tensor, Index box_rows) const;
  /// Of [B, H, N_kv, d].
  CUtensorMap columns_of_query_heads(const TensorView& tensor, Index box_rows) const;

 private:
  ForwardShape shape_;
  Index batch_;
};

}  // namespace attnscope::kernels
