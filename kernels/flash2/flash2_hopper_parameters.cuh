/// Parameters of flash2's launches in Hopper's own instructions. Compiled for host and device.
#pragma once

#include "kernels/backward_parameters.cuh"
#include "kernels/forward_parameters.cuh"
#include "kernels/gradient_maps.cuh"

namespace attnscope::kernels {

/// Beside what flash2_backward has, how bulk copies find the tensors.
struct Flash2HopperParameters : BackwardParameters {
  GradientMaps maps;
  /// With a fixed order of dQ: so many heads whose thread blocks are numbered in turn.
  int heads_in_turn = 1;
};

/// Beside what flash2_forward has, the same.
struct Flash2HopperForwardParameters : ForwardParameters {
  ForwardMaps maps;
};

}  // namespace attnscope::kernels
