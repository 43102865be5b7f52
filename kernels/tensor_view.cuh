/// The location of a tensor in device memory. Compiled for host and device.
#pragma once

#include "reference/tiling.h"

namespace attnscope::kernels {

/// A [B, H, rows, d] tensor in device memory; strides in elements, the last axis contiguous.
/// If the size of a row of d elements is a multiple of 16 bytes, so are the address and the
/// strides.
struct TensorView {
  void* data_dev = nullptr;
  Index stride_batch = 0;
  Index stride_head = 0;
  Index stride_row = 0;
};

}  // namespace attnscope::kernels
