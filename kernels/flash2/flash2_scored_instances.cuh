/// The compiled instances of flash2's two passes with ScoreFunctions for one 16-bit type: the
/// default tiling of each head dimension, the first in the catalog's tables.
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
  using device::ScoreFunctions;
  const auto start = [&]<int kHeadDim, int Br, int Bc, int kWarps, int kBlocksPerSm>() {
    if (d != kHeadDim || tiling != Tiling{Br, Bc}) return false;
    const Index blocks = batch * parameters.shape.heads * ceil_div(parameters.shape.N, Br);
    start_kernel(flash2_forward<T, kHeadDim, Br, Bc, kWarps, kBlocksPerSm, device::Columns::all,
                                ScoreFunctions::kVisits, device::NoTrace, ScoreFunctions>,
                 blocks, kWarps * 32,
                 static_cast<int>(flash2_forward_shared_bytes(kHeadDim, {Br, Bc})) +
                     ScoreFunctions::Rows<Br, Bc>::kSharedBytes,
                 stream, parameters);
    return true;
  };
  // With four warps, as the plain instances of d = 64 and 128 have, registers would spill
  return start.template operator()<16, 128, 64, 4, 1>() ||
         start.template operator()<32, 128, 64, 4, 1>() ||
         start.template operator()<64, 128, 128, 8, 1>() ||
         start.template operator()<128, 128, 64, 8, 1>();
}

/// The same for the backward launch.
template <typename T>
bool start_flash2_backward_scored(const BackwardParameters& parameters, Index batch, Index d,
                                  const Tiling& tiling, void* stream) {
  using device::ScoreFunctions;
  const auto start = [&]<int kHeadDim, int Br, int Bc>() {
    if (d != kHeadDim || tiling != Tiling{Br, Bc}) return false;
    constexpr int kWarps = Bc / 16;
    const Index blocks = batch * parameters.shape.heads * ceil_div(parameters.shape.N_kv, Bc);
    start_kernel(flash2_backward<T, kHeadDim, Br, Bc, kWarps, device::Columns::all,
                                 ScoreFunctions::kVisits, device::NoTrace, ScoreFunctions>,
                 blocks, kWarps * 32,
                 Flash2BackwardShared<Br, Bc, kHeadDim>::kBytes +
                     ScoreFunctions::Columns<Br, Bc>::kSharedBytes,
                 stream, parameters);
    return true;
  };
  return start.template operator()<16, 128, 128>() || start.template operator()<32, 128, 128>() ||
         start.template operator()<64, 128, 128>() || start.template operator()<128, 64, 128>();
}

}  // namespace attnscope::kernels
