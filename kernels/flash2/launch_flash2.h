/// flash2's launches, for flash2 and block_sparse2. Internal.
#pragma once

#include "kernels/backward_parameters.cuh"
#include "kernels/launch.h"

namespace attnscope::kernels {

/// Enqueues "forward", on the lists of tiles that the parameters have.
void start_flash2_forward(const ForwardArguments& arguments, const ForwardParameters& parameters,
                          const Tiling& tiling);

/// The backward pass's parameters, with D and dQ_accum in the workspace.
BackwardParameters flash2_backward_parameters(const BackwardArguments& arguments);

/// Enqueues all launches of the backward pass.
void start_flash2_backward(const BackwardArguments& arguments, const BackwardParameters& parameters,
                           const Tiling& tiling);

}  // namespace attnscope::kernels
