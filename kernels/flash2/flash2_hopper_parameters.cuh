/// Parameters of flash2's launches with Hopper's own instructions. Compiled for host and device.
#pragma once

#include "kernels/backward_parameters.cuh"
#include "kernels/forward_parameters.cuh"
#include "kernels/gradient_maps.cuh"

namespace attnscope::kernels {

/// In addition to flash2_backward's parameters: the tensor maps of the bulk copies.
struct Flash2HopperParameters : BackwardParameters {
  GradientMaps maps;
  /// With a fixed order of dQ: the number of heads whose thread blocks alternate in the numbering.
  int heads_in_turn = 1;
};

/// The numbers of the row tiles that a launch's blocks take in turn (device/tile_queue.cuh).
struct TileQueueParameters {
  int tiles = 0;
  uint32_t launch = 0;                 ///< unique among the launches that share `next`
  unsigned long long* next = nullptr;  ///< in device memory, not cleared
};

/// In addition to flash2_forward's parameters: the tensor maps, and the order in which row tiles
/// are computed.
struct Flash2HopperForwardParameters : ForwardParameters {
  ForwardMaps maps;
  TileQueueParameters queue;
  /// Heads whose row tiles with the same index are adjacent in this order; divides the number of
  /// heads.
  int heads_at_once = 1;
};

}  // namespace attnscope::kernels
