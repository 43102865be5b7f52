/// The tensor in which flash1 keeps O in fp32 in HBM between passes over the keys. Compiled for
/// host and device.
#pragma once

#include "reference/host_device.h"

namespace attnscope::kernels {

/// Its columns: d rounded up to whole 16-byte pieces; columns beyond d are zero.
ATTNSCOPE_HOST_DEVICE constexpr int flash1_carried_columns(int d) {
  return (d + 3) / 4 * 4;
}

}  // namespace attnscope::kernels
