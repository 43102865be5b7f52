/// The tensor in which flash1 carries O in fp32. Compiled for host and device.
#pragma once

#include "reference/host_device.h"

namespace attnscope::kernels {

/// Its columns: d rounded up to whole 16-byte pieces; what is beyond d is zero.
ATTNSCOPE_HOST_DEVICE constexpr int flash1_carried_columns(int d) {
  return (d + 3) / 4 * 4;
}

}  // namespace attnscope::kernels
