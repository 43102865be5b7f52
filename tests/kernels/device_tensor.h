/// A [B, H, rows, d] tensor in device memory for tests: any of three layouts, filled with NaN, and
/// with a check that nothing outside the tensor was written.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/host/device_buffer.h"
#include "kernels/tensor_view.cuh"
#include "reference/head_tensor.h"

namespace attnscope::kernels {

/// contiguous: C order. interleaved: the heads of a row are side by side, as in frameworks, with
/// eight unused elements after every row. shared: the stride between heads is zero, so that all
/// heads are the same one; read only.
enum class Layout { contiguous, interleaved, shared };

/// Replaces every head with the first one of its batch entry.
void share_heads(HeadTensor& tensor);

class DeviceTensor {
 public:
  /// Sets every byte to 0xff, which is NaN in all three precisions.
  DeviceTensor(Index batch, Index heads, Index rows, Index cols, DType dtype, Layout layout);

  /// Sets every byte to 0xff again.
  void poison();
  /// Uploads the values, rounded to the tensor's precision; the bytes between the rows stay NaN.
  void upload(const HeadTensor& values);
  HeadTensor download() const;
  std::vector<std::byte> bytes() const;
  bool padding_is_untouched() const;

  TensorView view() const;

 private:
  std::size_t offset_bytes(Index b, Index h, Index row) const;

  HeadTensor shape_;  ///< sizes only
  DType dtype_;
  Index stride_batch_, stride_head_, stride_row_;
  DeviceBuffer buffer_;
};

}  // namespace attnscope::kernels
