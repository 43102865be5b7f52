/// The compiled instances of flash1_backward for one 16-bit type, the twins of the catalog's table.
#pragma once

#include "kernels/flash1/flash1_backward.cuh"
#include "kernels/flash1/flash1_backward_shared.h"
#include "kernels/flash1/flash1_backward_start.h"
#include "kernels/host/launch_kernel.h"
#include "reference/head_dim.h"

namespace attnscope::kernels {

/// Starts the instance for head dimension d and the tiling; false when there is none. Where an
/// instance for exactly this d exists it is taken; Columns::first takes every smaller d.
template <typename T>
bool start_flash1_backward(const Flash1BackwardParameters& parameters, Index batch, Index d,
                           const Tiling& tiling, void* stream) {
  using device::Columns;
  const auto
      start = [&]<int kWidth, int Br, int Bc, int kWarps, Columns kColumns = Columns::all>() {
    const bool fits = kColumns == Columns::all ? d == kWidth : padded_head_dim(d) == kWidth;
    if (!fits || tiling != Tiling{Br, Bc}) return false;
    constexpr int kSharedBytes = Flash1BackwardShared<Br, Bc, kWidth>::kBytes;
    static_assert(kSharedBytes == flash1_backward_shared_bytes(kWidth, {Br, Bc}));
    start_kernel(flash1_backward<T, kWidth, Br, Bc, kWarps, kColumns>,
                 batch * parameters.shared.shape.heads, kWarps * 32, kSharedBytes, stream,
                 parameters);
    return true;
  };
  constexpr Columns kFirst = Columns::first;
  return start.template operator()<16, 128, 128, 8>() ||
         start.template operator()<16, 16, 16, 1>() ||
         start.template operator()<32, 64, 128, 8>() ||
         start.template operator()<64, 64, 128, 8>() ||
         start.template operator()<64, 32, 32, 2>() ||
         start.template operator()<128, 64, 128, 8>() ||
         start.template operator()<16, 128, 128, 8, kFirst>() ||
         start.template operator()<32, 64, 128, 8, kFirst>() ||
         start.template operator()<64, 64, 128, 8, kFirst>() ||
         start.template operator()<96, 64, 64, 8, kFirst>() ||
         start.template operator()<128, 64, 64, 8, kFirst>() ||
         start.template operator()<192, 32, 64, 8, kFirst>() ||
         start.template operator()<256, 32, 64, 8, kFirst>();
}

}  // namespace attnscope::kernels
