/// The compiled instances of block_sparse2 for one 16-bit type, the twins of the catalog's table:
/// flash2's kernels on listed tiles. Every tiling of the backward pass has a forward instance,
/// since both passes of a problem share its block mask.
#pragma once

#include "kernels/block_sparse/block_sparse_start.h"
#include "kernels/flash2/flash2_backward.cuh"
#include "kernels/flash2/flash2_forward.cuh"
#include "kernels/flash2/flash2_forward_shared.h"
#include "kernels/host/launch_kernel.h"

namespace attnscope::kernels {

/// Starts the instance for head dimension d and the tiling; false when there is none.
template <typename T>
bool start_block_sparse(const ForwardParameters& parameters, Index batch, Index d,
                        const Tiling& tiling, void* stream) {
  const auto start = [&]<int kHeadDim, int Br, int Bc, int kWarps, int kBlocksPerSm>() {
    if (d != kHeadDim || tiling != Tiling{Br, Bc}) return false;
    const Index blocks = batch * parameters.shape.heads * ceil_div(parameters.shape.N, Br);
    start_kernel(flash2_forward<T, kHeadDim, Br, Bc, kWarps, kBlocksPerSm, device::Columns::all,
                                device::Visits::listed>,
                 blocks, kWarps * 32,
                 static_cast<int>(flash2_forward_shared_bytes(kHeadDim, {Br, Bc})), stream,
                 parameters);
    return true;
  };
  return start.template operator()<16, 16, 16, 1, 1>() ||
         start.template operator()<32, 128, 128, 4, 1>() ||
         start.template operator()<64, 128, 128, 4, 2>() ||
         start.template operator()<64, 32, 32, 2, 1>() ||
         start.template operator()<128, 128, 64, 4, 2>() ||
         start.template operator()<128, 64, 128, 4, 1>();
}

/// The same for the launch "backward".
template <typename T>
bool start_block_sparse_backward(const BackwardParameters& parameters, Index batch, Index d,
                                 const Tiling& tiling, void* stream) {
  const auto start = [&]<int kHeadDim, int Br, int Bc>() {
    if (d != kHeadDim || tiling != Tiling{Br, Bc}) return false;
    constexpr int kWarps = Bc / 16;
    const Index blocks = batch * parameters.shape.heads * ceil_div(parameters.shape.N_kv, Bc);
    start_kernel(
        flash2_backward<T, kHeadDim, Br, Bc, kWarps, device::Columns::all, device::Visits::listed>,
        blocks, kWarps * 32, Flash2BackwardShared<Br, Bc, kHeadDim>::kBytes, stream, parameters);
    return true;
  };
  return start.template operator()<16, 16, 16>() || start.template operator()<32, 128, 128>() ||
         start.template operator()<64, 128, 128>() || start.template operator()<64, 32, 32>() ||
         start.template operator()<128, 64, 128>();
}

}  // namespace attnscope::kernels
