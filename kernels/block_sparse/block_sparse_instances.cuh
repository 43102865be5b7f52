/// The compiled instances of block_sparse2 for one 16-bit type, the twins of the catalog's table:
/// flash2's kernels on listed tiles. Every tiling of the backward pass has a forward instance,
/// since both passes of a problem share its block mask.
#pragma once

#include "kernels/block_sparse/block_sparse_start.h"
#include "kernels/flash2/flash2_backward.cuh"
#include "kernels/host/launch_kernel.h"
#include "reference/head_dim.h"

namespace attnscope::kernels {

/// Starts the instance for head dimension d and the tiling; false when there is none. Where an
/// instance for exactly this d exists it is taken; Columns::first takes every smaller d.
template <typename T>
bool start_block_sparse_backward(const BackwardParameters& parameters, Index batch, Index d,
                                 const Tiling& tiling, void* stream) {
  using device::Columns;
  const auto start = [&]<int kWidth, int Br, int Bc, Columns kColumns = Columns::all,
                         int kWarps = Bc / 16>() {
    const bool fits = kColumns == Columns::all ? d == kWidth : padded_head_dim(d) == kWidth;
    if (!fits || tiling != Tiling{Br, Bc}) return false;
    const Index blocks = batch * parameters.shape.heads * ceil_div(parameters.shape.N_kv, Bc);
    start_kernel(flash2_backward<T, kWidth, Br, Bc, kWarps, kColumns, device::Visits::listed>,
                 blocks, kWarps * 32, Flash2BackwardShared<Br, Bc, kWidth>::kBytes, stream,
                 parameters);
    return true;
  };
  constexpr Columns kFirst = Columns::first;
  return start.template operator()<16, 16, 16>() || start.template operator()<32, 128, 128>() ||
         start.template operator()<64, 128, 128>() || start.template operator()<64, 32, 32>() ||
         start.template operator()<128, 64, 128>() ||
         start.template operator()<16, 16, 16, kFirst>() ||
         start.template operator()<32, 128, 128, kFirst>() ||
         start.template operator()<64, 128, 128, kFirst>() ||
         start.template operator()<96, 64, 128, kFirst>() ||
         start.template operator()<128, 64, 64, kFirst, 8>() ||
         start.template operator()<192, 64, 64, kFirst, 8>() ||
         start.template operator()<256, 32, 64, kFirst, 8>();
}

}  // namespace attnscope::kernels
