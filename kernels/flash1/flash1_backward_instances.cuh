/// The compiled instances of flash1_backward for one 16-bit type, the twins of the catalog's table.
#pragma once

#include "kernels/flash1/flash1_backward.cuh"
#include "kernels/flash1/flash1_backward_shared.h"
#include "kernels/host/launch_kernel.h"

namespace attnscope::kernels {

/// Starts the instance for head dimension d and the tiling; false when there is none.
template <typename T>
bool start_flash1_backward(const Flash1BackwardParameters& parameters, Index batch, Index d,
                           const Tiling& tiling, void* stream) {
  const auto start = [&]<int kHeadDim, int Br, int Bc, int kWarps>() {
    if (d != kHeadDim || tiling != Tiling{Br, Bc}) return false;
    constexpr int kSharedBytes = Flash1BackwardShared<Br, Bc, kHeadDim>::kBytes;
    static_assert(kSharedBytes == flash1_backward_shared_bytes(kHeadDim, {Br, Bc}));
    start_kernel(flash1_backward<T, kHeadDim, Br, Bc, kWarps>,
                 batch * parameters.shared.shape.heads, kWarps * 32, kSharedBytes, stream,
                 parameters);
    return true;
  };
  return start.template operator()<16, 128, 128, 8>() ||
         start.template operator()<16, 16, 16, 1>() ||
         start.template operator()<32, 64, 128, 8>() ||
         start.template operator()<64, 64, 128, 8>() ||
         start.template operator()<64, 32, 32, 2>() || start.template operator()<128, 64, 128, 8>();
}

}  // namespace attnscope::kernels
