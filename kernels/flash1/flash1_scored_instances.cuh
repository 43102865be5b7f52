/// The compiled instances of flash1's two passes with score functions for one 16-bit type: the
/// tilings at d = 64 and 128 that the catalog's tables have for them.
#pragma once

#include "kernels/flash1/flash1_backward.cuh"
#include "kernels/flash1/flash1_forward.cuh"
#include "kernels/host/launch_kernel.h"

namespace attnscope::kernels {

/// Starts the instance for head dimension d and the tiling; false when there is none.
template <typename T, typename Carried>
bool start_flash1_scored(const ScoredFlash1Parameters& parameters, Index batch, Index d,
                         const Tiling& tiling, void* stream) {
  const auto start = [&]<int kHeadDim, int Br, int Bc>() {
    if (d != kHeadDim || tiling != Tiling{Br, Bc}) return false;
    start_kernel(
        flash1_forward<T, Carried, kHeadDim, Br, Bc, device::Columns::all, device::NoTrace,
                       ScoredFlash1>,
        batch * parameters.shape.heads, Br / 16 * 32,
        Flash1Shared<Carried, Br, Bc, kHeadDim>::kBytes + ScoredFlash1::Rows<Br, Bc>::kSharedBytes,
        stream, parameters);
    return true;
  };
  return start.template operator()<64, 128, 256>() || start.template operator()<128, 128, 128>();
}

/// The same for the backward launch.
template <typename T>
bool start_flash1_backward_scored(const Flash1BackwardParameters& parameters, Index batch, Index d,
                                  const Tiling& tiling, void* stream) {
  const auto start = [&]<int kHeadDim, int Br, int Bc>() {
    if (d != kHeadDim || tiling != Tiling{Br, Bc}) return false;
    constexpr int kWarps = 8;
    constexpr int kSharedBytes = Flash1BackwardShared<Br, Bc, kHeadDim>::kBytes +
                                 ScoredFlash1::Columns<Br, Bc, kWarps>::kSharedBytes;
    static_assert(kSharedBytes <= 227 * 1024);
    start_kernel(flash1_backward<T, kHeadDim, Br, Bc, kWarps, device::Columns::all, device::NoTrace,
                                 ScoredFlash1>,
                 batch * parameters.shared.shape.heads, kWarps * 32, kSharedBytes, stream,
                 parameters);
    return true;
  };
  return start.template operator()<64, 64, 128>() || start.template operator()<128, 64, 128>();
}

}  // namespace attnscope::kernels
