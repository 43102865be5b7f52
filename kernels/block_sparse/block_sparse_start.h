/// Starts the compiled instances of block_sparse2, flash2's programs on listed tiles, for a
/// precision, head dimension and tiling; false when there is none. Internal.
#pragma once

#include "kernels/backward_parameters.h"

namespace attnscope::kernels {

bool start_block_sparse_backward_fp16(const BackwardParameters& parameters, Index batch, Index d,
                                      const Tiling& tiling, void* stream);
bool start_block_sparse_backward_bf16(const BackwardParameters& parameters, Index batch, Index d,
                                      const Tiling& tiling, void* stream);

}  // namespace attnscope::kernels
