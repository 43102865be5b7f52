/// The driver's description of a GPU.
#pragma once

#include "kernels/recording/device_info.h"
#include "reference/result.h"

namespace attnscope::kernels {

/// Makes the GPU current on the calling thread and describes it. unavailable, with a remedy, if
/// there is no driver or no such GPU, or if the GPU is too old for the kernels.
Result<DeviceInfo> open_device(int device);

}  // namespace attnscope::kernels
