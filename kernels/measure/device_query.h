/// The driver's description of a GPU.
#pragma once

#include "kernels/recording/device_info.h"
#include "reference/result.h"

namespace attnscope::kernels {

/// Makes the GPU current on the calling thread and describes it. unavailable when there is no
/// driver, no such GPU, or it is too old for the kernels; each with its remedy.
Result<DeviceInfo> open_device(int device);

}  // namespace attnscope::kernels
