/// The compiled instances of flash2_forward for one 16-bit type, the twins of the catalog's table.
#pragma once

#include "kernels/flash2/flash2_forward.cuh"
#include "kernels/flash2/flash2_start.h"
#include "kernels/host/launch_kernel.h"

namespace attnscope::kernels {

/// Starts the instance for head dimension d and the tiling; false when there is none.
template <typename T>
bool start_flash2(const ForwardParameters& parameters, Index batch, Index d, const Tiling& tiling,
                  void* stream) {
  const auto start = [&]<int kHeadDim, int Br, int Bc, int kWarps, int kBlocksPerSm>() {
    if (d != kHeadDim || tiling != Tiling{Br, Bc}) return false;
    const Index blocks = batch * parameters.shape.heads * ceil_div(parameters.shape.N, Br);
    start_kernel(flash2_forward<T, kHeadDim, Br, Bc, kWarps, kBlocksPerSm>, blocks, kWarps * 32,
                 flash2_shared_bytes<Br, Bc, kHeadDim>, stream, parameters);
    return true;
  };
  return start.template operator()<16, 128, 64, 4, 1>() ||
         start.template operator()<16, 16, 16, 1, 1>() ||
         start.template operator()<32, 128, 64, 4, 1>() ||
         start.template operator()<64, 128, 128, 4, 2>() ||
         start.template operator()<64, 32, 32, 2, 1>() ||
         start.template operator()<128, 128, 64, 4, 2>();
}

}  // namespace attnscope::kernels
