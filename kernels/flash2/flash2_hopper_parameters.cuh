/// Parameters of flash2's backward launch in Hopper's own instructions. Compiled for host and
/// device.
#pragma once

#include "kernels/backward_parameters.cuh"
#include "kernels/gradient_maps.cuh"

namespace attnscope::kernels {

/// Beside what flash2_backward has, how bulk copies find the tensors.
struct Flash2HopperParameters : BackwardParameters {
  GradientMaps maps;
};

}  // namespace attnscope::kernels
