/// The compiled instances of flash2_forward for one 16-bit type, the twins of the catalog's table.
#pragma once

#include "kernels/flash2/flash2_forward.cuh"
#include "kernels/flash2/flash2_forward_shared.h"
#include "kernels/flash2/flash2_start.h"
#include "kernels/host/launch_kernel.h"
#include "reference/head_dim.h"

namespace attnscope::kernels {

/// Starts the instance for head dimension d and the tiling; false when there is none. Where an
/// instance for exactly this d exists it is taken; Columns::first takes every smaller d.
template <typename T>
bool start_flash2(const ForwardParameters& parameters, Index batch, Index d, const Tiling& tiling,
                  void* stream) {
  using device::Columns;
  const auto start = [&]<int kWidth, int Br, int Bc, int kWarps, int kBlocksPerSm,
                         Columns kColumns = Columns::all>() {
    const bool fits = kColumns == Columns::all ? d == kWidth : padded_head_dim(d) == kWidth;
    if (!fits || tiling != Tiling{Br, Bc}) return false;
    const Index blocks = batch * parameters.shape.heads * ceil_div(parameters.shape.N, Br);
    start_kernel(flash2_forward<T, kWidth, Br, Bc, kWarps, kBlocksPerSm, kColumns>, blocks,
                 kWarps * 32, static_cast<int>(flash2_forward_shared_bytes(kWidth, {Br, Bc})),
                 stream, parameters);
    return true;
  };
  constexpr Columns kFirst = Columns::first;
  return start.template operator()<16, 128, 64, 4, 1>() ||
         start.template operator()<16, 16, 16, 1, 1>() ||
         start.template operator()<16, 128, 64, 4, 1, kFirst>() ||
         start.template operator()<32, 128, 64, 4, 1>() ||
         start.template operator()<32, 128, 64, 4, 1, kFirst>() ||
         start.template operator()<64, 128, 128, 4, 2>() ||
         start.template operator()<64, 32, 32, 2, 1>() ||
         start.template operator()<64, 128, 128, 4, 2, kFirst>() ||
         start.template operator()<96, 128, 64, 4, 2, kFirst>() ||
         start.template operator()<128, 128, 64, 4, 2>() ||
         start.template operator()<128, 128, 64, 4, 2, kFirst>() ||
         start.template operator()<192, 128, 64, 8, 1, kFirst>() ||
         start.template operator()<192, 128, 32, 8, 1, kFirst>() ||
         start.template operator()<256, 128, 64, 8, 1, kFirst>() ||
         start.template operator()<256, 64, 32, 4, 1, kFirst>();
}

}  // namespace attnscope::kernels
