/// Puts the GPU into a known state before a pass: the contents of L2, and work enqueued ahead of
/// time.
#pragma once

#include "kernels/host/compiled_kernels.h"
#include "kernels/host/device_buffer.h"
#include "kernels/measure/stream.h"

namespace attnscope::kernels {

class Conditioning {
 public:
  /// `kernels` outlives the object.
  Conditioning(CompiledKernels& kernels, std::size_t l2_bytes);

  /// Reads a buffer of twice the L2: afterwards no input is in L2, and no line is dirty, because
  /// the sweep's lines are clean and have evicted all others.
  void sweep_cache(const Stream& stream) const;

  /// Occupies the stream for about 50 us, so that the host can enqueue the following work before
  /// the GPU reaches it: the times then exclude launch latency.
  void give_head_start(const Stream& stream) const;

 private:
  CompiledKernels& kernels_;
  DeviceBuffer zeros_;
};

}  // namespace attnscope::kernels
