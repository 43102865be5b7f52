/// The kernel that reads the clocks of the SMs before and after a timed pass.
#pragma once

#include "kernels/device/clocks.cuh"
#include "kernels/measure/timing/sm_clock_reading.cuh"

namespace attnscope::kernels {

/// Blocks of one thread. Each waits for the next step of the GPU's timer, whose steps may be as
/// long as 1 us, then reads the clock of its SM: the error of a reading is then the time of a few
/// instructions, not of a timer step.
__global__ void read_sm_clocks(SmClockReading* __restrict__ readings) {
  const uint64_t entered_ns = device::global_timer_ns();
  uint64_t ns = entered_ns;
  while (ns == entered_ns) ns = device::global_timer_ns();
  const uint64_t cycles = device::clock_cycles();
  readings[blockIdx.x] = {cycles, ns, static_cast<uint32_t>(device::sm_index())};
}

}  // namespace attnscope::kernels
