/// Puts the GPU into a known state before a pass: L2 content, and work enqueued ahead of time.
#pragma once

#include "kernels/host/device_buffer.h"
#include "kernels/measure/stream.h"
#include "kernels/recording/measurement.h"

namespace attnscope::kernels {

/// Reads a buffer of twice the L2: afterwards no input is in L2, and no line is dirty, because the
/// sweep's lines are clean and have evicted all others.
class CacheSweep {
 public:
  explicit CacheSweep(std::size_t l2_bytes);
  void enqueue(const Stream& stream) const;

 private:
  DeviceBuffer buffer_;
};

/// Occupies the stream for about 50 us, so that the host enqueues the following work before the GPU
/// reaches it: the times then exclude launch latency.
void enqueue_head_start(const Stream& stream);

/// cudaSuccess when this build has code for the current GPU, else the CUDA error.
cudaError_t probe_kernel_image();

}  // namespace attnscope::kernels
