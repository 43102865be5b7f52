/// The SM clock during a timed pass. Sustained use of the tensor cores pulls it below the boost
/// clock, so a time alone does not determine the number of cycles.
#pragma once

#include <optional>

#include "kernels/host/compiled_kernels.h"
#include "kernels/host/device_buffer.h"
#include "kernels/measure/stream.h"

namespace attnscope::kernels {

/// Enqueues a kernel of one thread per SM before and after a pass, both outside the events that
/// time the pass. The kernels write 24 bytes per SM and must not overlap another launch, so they do
/// not let the next one start early.
class SmClock {
 public:
  /// `kernels` outlives the object.
  SmClock(CompiledKernels& kernels, Index sm_count);

  /// Call it last before the start event, after the head start. The kernel occupies the GPU about
  /// as long as its launch occupies the host, so that the pass keeps its head start.
  void read_before_pass(const Stream& stream) const;
  /// Call it first after the stop event.
  void read_after_pass(const Stream& stream) const;

  /// Waits for the readings. Returns the mean clock between the last two, in Hz; nothing if no SM
  /// has both.
  std::optional<double> mean_hz() const;

 private:
  void read(const Stream& stream, const DeviceBuffer& readings) const;

  CompiledKernels& kernels_;
  Index sm_count_;
  DeviceBuffer before_, after_;  ///< SmClockReading[sm_count]
};

}  // namespace attnscope::kernels
