/// Starts the compiled instance of flash2 for a precision, head dimension and tiling; false when
/// there is none. Internal.
#pragma once

#include "kernels/forward_parameters.h"

namespace attnscope::kernels {

bool start_flash2_fp16(const ForwardParameters& parameters, Index batch, Index d,
                       const Tiling& tiling, void* stream);
bool start_flash2_bf16(const ForwardParameters& parameters, Index batch, Index d,
                       const Tiling& tiling, void* stream);
bool start_flash2_fp32(const ForwardParameters& parameters, Index batch, Index d,
                       const Tiling& tiling, void* stream);

}  // namespace attnscope::kernels
