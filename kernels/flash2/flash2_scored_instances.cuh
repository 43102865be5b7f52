/// The compiled instances of flash2's and block_sparse2's two passes with ScoreFunctions for one
/// 16-bit type, the twins of the catalog's tables. d = 64 and 128 have instances of their own; the
/// others share the next width that has their tiling.
#pragma once

#include "kernels/device/score_functions.cuh"
#include "kernels/flash2/flash2_backward.cuh"
#include "kernels/flash2/flash2_backward_shared.h"
#include "kernels/flash2/flash2_forward.cuh"
#include "kernels/flash2/flash2_forward_shared.h"
#include "kernels/flash2/flash2_scored_start.h"
#include "kernels/host/launch_kernel.h"

namespace attnscope::kernels {

/// Starts the instance for head dimension d and the tiling; false when there is none.
template <typename T>
bool start_flash2_scored(const ForwardParameters& parameters, Index batch, Index d,
                         const Tiling& tiling, void* stream) {
  using device::Columns, device::ScoreFunctions, device::Visits;
  const auto start = [&]<int kWidth, int Br, int Bc, int kWarps, Columns kColumns,
                         Visits kVisits = ScoreFunctions::kVisits>() {
    const bool fits = kColumns == Columns::all ? d == kWidth : d <= kWidth;
    if (!fits || tiling != Tiling{Br, Bc}) return false;
    const Index blocks = batch * parameters.shape.heads * ceil_div(parameters.shape.N, Br);
    start_kernel(flash2_forward<T, kWidth, Br, Bc, kWarps, 1, kColumns, kVisits, device::NoTrace,
                                ScoreFunctions>,
                 blocks, kWarps * 32,
                 static_cast<int>(flash2_forward_shared_bytes(kWidth, {Br, Bc})) +
                     ScoreFunctions::Rows<Br, Bc>::kSharedBytes,
                 stream, parameters);
    return true;
  };
  // In tiles of 128 rows registers would spill with four warps, as the plain instances of d = 64
  // and 128 have, and at 256 with lists of tiles: there all tiles between a row tile's first and
  // last key are visited
  return start.template operator()<64, 128, 128, 8, Columns::all>() ||
         start.template operator()<128, 128, 64, 8, Columns::all>() ||
         start.template operator()<32, 128, 64, 4, Columns::first>() ||
         start.template operator()<64, 128, 128, 8, Columns::first>() ||
         start.template operator()<128, 128, 64, 8, Columns::first>() ||
         start.template operator()<192, 128, 64, 8, Columns::first>() ||
         start.template operator()<256, 128, 64, 8, Columns::first, Visits::all>() ||
         // Of block_sparse2, whose passes have their tiles in common
         start.template operator()<128, 64, 128, 4, Columns::all>() ||
         start.template operator()<16, 16, 16, 1, Columns::first>() ||
         start.template operator()<96, 64, 128, 4, Columns::first>() ||
         start.template operator()<128, 64, 64, 4, Columns::first>() ||
         start.template operator()<192, 64, 64, 4, Columns::first>() ||
         start.template operator()<256, 32, 64, 2, Columns::first, Visits::listed>();
}

/// The same for the backward launch.
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
