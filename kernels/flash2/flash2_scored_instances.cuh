/// The compiled instances of flash2's and block_sparse2's backward pass with ScoreFunctions for one
/// 16-bit type, the twins of the catalog's tables. d = 64 and 128 have instances of their own; the
/// others share the next width that has their tiling.
#pragma once

#include "kernels/device/score_functions.cuh"
#include "kernels/flash2/flash2_backward.cuh"
#include "kernels/flash2/flash2_backward_shared.h"
#include "kernels/flash2/flash2_scored_start.h"
#include "kernels/host/launch_kernel.h"

namespace attnscope::kernels {

/// Starts the instance for head dimension d and the tiling; false when there is none.
template <typename T>
bool start_flash2_backward_scored(const BackwardParameters& parameters, Index batch, Index d,
                                  const Tiling& tiling, void* stream) {
  using device::Columns, device::ScoreFunctions;
  const auto start = [&]<int kWidth, int Br, int Bc, Columns kColumns, int kWarps = 8>() {
    const bool fits = kColumns == Columns::all ? d == kWidth : d <= kWidth;
    if (!fits || tiling != Tiling{Br, Bc}) return false;
    const Index blocks = batch * parameters.shape.heads * ceil_div(parameters.shape.N_kv, Bc);
    start_kernel(flash2_backward<T, kWidth, Br, Bc, kWarps, kColumns, ScoreFunctions::kVisits,
                                 device::NoTrace, ScoreFunctions>,
                 blocks, kWarps * 32,
                 Flash2BackwardShared<Br, Bc, kWidth>::kBytes +
                     ScoreFunctions::Columns<Br, Bc, kWarps>::kSharedBytes,
                 stream, parameters);
    return true;
  };
  return start.template operator()<64, 128, 128, Columns::all>() ||
         start.template operator()<128, 64, 128, Columns::all>() ||
         start.template operator()<32, 128, 128, Columns::first>() ||
         start.template operator()<64, 64, 128, Columns::first>() ||
         start.template operator()<128, 64, 128, Columns::first>() ||
         start.template operator()<192, 64, 64, Columns::first>() ||
         start.template operator()<256, 32, 64, Columns::first>() ||
         // Of block_sparse2
         start.template operator()<16, 16, 16, Columns::first, 1>() ||
         start.template operator()<64, 128, 128, Columns::first>();
}

}  // namespace attnscope::kernels
