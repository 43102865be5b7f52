/// Simultaneous readings of one SM's clock and the GPU's timer. Two readings of an SM give its mean
/// clock in between. Plain data, the same on host and device.
#pragma once

#include "reference/fixed_width.h"

namespace attnscope::kernels {

struct SmClockReading {
  uint64_t cycles;  ///< by the SM's clock, which keeps counting between kernels
  uint64_t ns;      ///< by the GPU's timer
  uint32_t sm;      ///< number of the SM
};

}  // namespace attnscope::kernels
