/// The compiled instances of flash1's two passes with score functions for one 16-bit type, the
/// twins of the catalog's tables. d = 64 and 128 have instances of their own; the others share the
/// next width that has their tiling.
#pragma once

#include "kernels/flash1/flash1_backward.cuh"
#include "kernels/flash1/flash1_backward_start.h"
#include "kernels/flash1/flash1_forward.cuh"
#include "kernels/flash1/flash1_start.h"
#include "kernels/host/launch_kernel.h"

namespace attnscope::kernels {

/// Starts the instance for head dimension d and the tiling; false when there is none.
template <typename T, typename Carried>
bool start_flash1_scored(const ScoredFlash1Parameters& parameters, Index batch, Index d,
                         const Tiling& tiling, void* stream) {
  using device::Columns;
  const auto start = [&]<int kWidth, int Br, int Bc, Columns kColumns = Columns::first>() {
    const bool fits = kColumns == Columns::all ? d == kWidth : d <= kWidth;
    if (!fits || tiling != Tiling{Br, Bc}) return false;
    constexpr int kSharedBytes =
        Flash1Shared<Carried, Br, Bc, kWidth>::kBytes + ScoredFlash1::Rows<Br, Bc>::kSharedBytes;
    static_assert(kSharedBytes <= 227 * 1024);
    start_kernel(
        flash1_forward<T, Carried, kWidth, Br, Bc, kColumns, device::NoTrace, ScoredFlash1>,
        batch * parameters.shape.heads, Br / 16 * 32, kSharedBytes, stream, parameters);
    return true;
  };
  constexpr Columns kAll = Columns::all;
  if constexpr (!device::kIsSame<Carried, float>) {  // which would spill registers
    if (start.template operator()<256, 64, 32>()) return true;
  }
  return start.template operator()<64, 128, 256, kAll>() ||
         start.template operator()<128, 128, 128, kAll>() ||
         start.template operator()<32, 128, 128>() || start.template operator()<64, 128, 128>() ||
         start.template operator()<128, 128, 128>() || start.template operator()<192, 128, 64>();
}

/// The same for the backward launch.
template <typename T>
bool start_flash1_backward_scored(const Flash1BackwardParameters& parameters, Index batch, Index d,
                                  const Tiling& tiling, void* stream) {
  using device::Columns;
  const auto start = [&]<int kWidth, int Br, int Bc, Columns kColumns = Columns::first>() {
    const bool fits = kColumns == Columns::all ? d == kWidth : d <= kWidth;
    if (!fits || tiling != Tiling{Br, Bc}) return false;
    constexpr int kWarps = 8;
    constexpr int kSharedBytes = Flash1BackwardShared<Br, Bc, kWidth>::kBytes +
                                 ScoredFlash1::Columns<Br, Bc, kWarps>::kSharedBytes;
    static_assert(kSharedBytes <= 227 * 1024);
    start_kernel(
        flash1_backward<T, kWidth, Br, Bc, kWarps, kColumns, device::NoTrace, ScoredFlash1>,
        batch * parameters.shared.shape.heads, kWarps * 32, kSharedBytes, stream, parameters);
    return true;
  };
  constexpr Columns kAll = Columns::all;
  return start.template operator()<64, 64, 128, kAll>() ||
         start.template operator()<128, 64, 128, kAll>() ||
         start.template operator()<32, 64, 128>() || start.template operator()<64, 64, 64>() ||
         start.template operator()<128, 64, 64>() || start.template operator()<192, 32, 64>() ||
         start.template operator()<256, 32, 64>();
}

}  // namespace attnscope::kernels
