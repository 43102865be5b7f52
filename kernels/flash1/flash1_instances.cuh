/// The compiled instances of flash1_forward for one 16-bit type, the twins of the catalog's table.
#pragma once

#include "kernels/flash1/flash1_forward.cuh"
#include "kernels/flash1/flash1_forward_shared.h"
#include "kernels/flash1/flash1_start.h"
#include "kernels/host/launch_kernel.h"
#include "reference/head_dim.h"

namespace attnscope::kernels {

/// Starts the instance for head dimension d and the tiling; false when there is none. Where an
/// instance for exactly this d exists it is taken; Columns::first takes every smaller d.
template <typename T, typename Carried>
bool start_flash1(const Flash1Parameters& parameters, Index batch, Index d, const Tiling& tiling,
                  void* stream) {
  using device::Columns;
  const auto start = [&]<int kWidth, int Br, int Bc, Columns kColumns = Columns::all>() {
    const bool fits = kColumns == Columns::all ? d == kWidth : padded_head_dim(d) == kWidth;
    if (!fits || tiling != Tiling{Br, Bc}) return false;
    constexpr int kSharedBytes = Flash1Shared<Carried, Br, Bc, kWidth>::kBytes;
    static_assert(sizeof(Carried) != 2 ||
                  kSharedBytes == flash1_forward_shared_bytes(kWidth, {Br, Bc}));
    start_kernel(flash1_forward<T, Carried, kWidth, Br, Bc, kColumns>,
                 batch * parameters.shape.heads, Br / 16 * 32, kSharedBytes, stream, parameters);
    return true;
  };
  constexpr Columns kFirst = Columns::first;
  if constexpr (!device::kIsSame<Carried, float>) {  // which would spill registers
    if (start.template operator()<256, 64, 32, kFirst>()) return true;
  }
  return start.template operator()<16, 128, 128>() || start.template operator()<16, 16, 16>() ||
         start.template operator()<32, 128, 128>() || start.template operator()<64, 128, 128>() ||
         start.template operator()<64, 128, 256>() || start.template operator()<64, 32, 32>() ||
         start.template operator()<128, 128, 256>() ||
         start.template operator()<16, 128, 128, kFirst>() ||
         start.template operator()<32, 128, 128, kFirst>() ||
         start.template operator()<64, 128, 128, kFirst>() ||
         start.template operator()<96, 128, 128, kFirst>() ||
         start.template operator()<128, 128, 64, kFirst>() ||
         start.template operator()<192, 128, 64, kFirst>();
}

}  // namespace attnscope::kernels
