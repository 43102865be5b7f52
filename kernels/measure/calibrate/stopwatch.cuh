/// Times part of a thread block's program.
#pragma once

#include "kernels/device/clocks.cuh"
#include "kernels/measure/calibrate/block_time.cuh"

namespace attnscope::kernels {

/// Runs from its construction to stop(), both called by every thread of the block. The interval in
/// cycles is within the one in nanoseconds. It occupies no register in between.
class Stopwatch {
 public:
  __device__ explicit Stopwatch(BlockTime* __restrict__ times) : block_(times[blockIdx.x]) {
    __syncthreads();  // every thread has prepared its operands
    if (threadIdx.x != 0) return;
    block_.begin_ns = device::global_timer_ns();
    block_.begin_cycles = device::clock_cycles();
  }

  __device__ void stop() const {
    __syncthreads();  // every thread has finished its work
    if (threadIdx.x != 0) return;
    block_.end_cycles = device::clock_cycles();
    block_.end_ns = device::global_timer_ns();
    block_.sm = static_cast<uint32_t>(device::sm_index());
  }

 private:
  BlockTime& block_;
};

/// Uses the value, so that the compiler cannot remove its computation: writes it only if it equals
/// a value that almost never occurs.
__device__ inline void keep(uint32_t value, BlockTime* __restrict__ times) {
  if (value == 0x5eed1e55u) times[blockIdx.x].result = value;
}

/// Pseudo-random bits: products of zeros draw less power and therefore run faster.
__device__ inline uint32_t mixed_bits(uint32_t n) {
  n = (n ^ (n >> 16)) * 0x7feb352du;
  n = (n ^ (n >> 15)) * 0x846ca68bu;
  return n ^ (n >> 16);
}

/// Two 16-bit floating-point values of either type, between 0.5 and 1 or -1 and -0.5 (fp16: between
/// 1 and 2): random signs and mantissas.
__device__ inline uint32_t mixed_pair(uint32_t n) {
  return (mixed_bits(n) & 0x807f807fu) | 0x3f003f00u;
}

}  // namespace attnscope::kernels
