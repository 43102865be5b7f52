/// The compiled instances of flash2_backward for one 16-bit type, the twins of the catalog's table.
#pragma once

#include "kernels/flash2/flash2_backward.cuh"
#include "kernels/flash2/flash2_backward_shared.h"
#include "kernels/flash2/flash2_backward_start.h"
#include "kernels/host/launch_kernel.h"

namespace attnscope::kernels {

/// Starts the instance for head dimension d and the tiling; false when there is none.
template <typename T>
bool start_flash2_backward(const BackwardParameters& parameters, Index batch, Index d,
                           const Tiling& tiling, void* stream) {
  const auto start = [&]<int kHeadDim, int Br, int Bc>() {
    if (d != kHeadDim || tiling != Tiling{Br, Bc}) return false;
    constexpr int kWarps = Bc / 16;
    constexpr int kSharedBytes = Flash2BackwardShared<Br, Bc, kHeadDim>::kBytes;
    static_assert(kSharedBytes == flash2_backward_shared_bytes(kHeadDim, {Br, Bc}));
    const Index blocks = batch * parameters.shape.heads * ceil_div(parameters.shape.N_kv, Bc);
    start_kernel(flash2_backward<T, kHeadDim, Br, Bc, kWarps>, blocks, kWarps * 32, kSharedBytes,
                 stream, parameters);
    return true;
  };
  return start.template operator()<16, 128, 128>() || start.template operator()<16, 16, 16>() ||
         start.template operator()<32, 128, 128>() || start.template operator()<32, 64, 128>() ||
         start.template operator()<64, 128, 128>() || start.template operator()<64, 64, 128>() ||
         start.template operator()<64, 32, 32>() || start.template operator()<128, 64, 128>() ||
         start.template operator()<128, 32, 64>();
}

}  // namespace attnscope::kernels
