/// The compiled instances of flash1_forward for one 16-bit type, the twins of the catalog's table.
#pragma once

#include "kernels/flash1/flash1_forward.cuh"
#include "kernels/host/launch_kernel.h"

namespace attnscope::kernels {

/// Starts the instance for head dimension d and the tiling; false when there is none.
template <typename T, typename Carried>
bool start_flash1(const Flash1Parameters& parameters, Index batch, Index d, const Tiling& tiling,
                  void* stream) {
  const auto start = [&]<int kHeadDim, int Br, int Bc>() {
    if (d != kHeadDim || tiling != Tiling{Br, Bc}) return false;
    start_kernel(flash1_forward<T, Carried, kHeadDim, Br, Bc>, batch * parameters.shape.heads,
                 Br / 16 * 32, Flash1Shared<Carried, Br, Bc, kHeadDim>::kBytes, stream, parameters);
    return true;
  };
  return start.template operator()<16, 128, 128>() || start.template operator()<16, 16, 16>() ||
         start.template operator()<32, 128, 128>() || start.template operator()<64, 128, 128>() ||
         start.template operator()<64, 128, 256>() || start.template operator()<64, 32, 32>() ||
         start.template operator()<128, 128, 128>();
}

}  // namespace attnscope::kernels
