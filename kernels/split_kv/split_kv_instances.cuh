/// The compiled instances of split_kv_partial for one 16-bit type, the twins of the catalog's
/// table.
#pragma once

#include "kernels/host/launch_kernel.h"
#include "kernels/split_kv/split_kv_partial.cuh"
#include "kernels/split_kv/split_kv_shared.h"
#include "kernels/split_kv/split_kv_start.h"
#include "reference/head_dim.h"

namespace attnscope::kernels {

/// Starts the instance for head dimension d and the tiling; false when there is none. Where an
/// instance for exactly this d exists it is taken; Columns::first takes every smaller d.
template <typename T>
bool start_split_kv_partial(const SplitKvParameters& parameters, Index batch, Index d,
                            const Tiling& tiling, void* stream) {
  using device::Columns;
  const auto start = [&]<int kWidth, int Bc, int kStages, Columns kColumns = Columns::all>() {
    const bool fits = kColumns == Columns::all ? d == kWidth : padded_head_dim(d) == kWidth;
    if (!fits || tiling != Tiling{kSplitRows, Bc}) return false;
    constexpr int kSharedBytes = SplitKvShared<Bc, kWidth, kSplitWarps, kStages>::kBytes;
    static_assert(kSharedBytes == split_kv_shared_bytes(kWidth, {kSplitRows, Bc}));
    const Index Tr = ceil_div(parameters.shape.N, kSplitRows);
    start_kernel(split_kv_partial<T, kWidth, Bc, kSplitWarps, kStages, kColumns>,
                 batch * parameters.shape.heads * Tr * parameters.splits, kSplitWarps * 32,
                 kSharedBytes, stream, parameters);
    return true;
  };
  constexpr Columns kFirst = Columns::first;
  return start.template operator()<16, 128, 4>() || start.template operator()<32, 128, 4>() ||
         start.template operator()<64, 128, 4>() || start.template operator()<128, 64, 4>() ||
         start.template operator()<16, 128, 4, kFirst>() ||
         start.template operator()<32, 128, 4, kFirst>() ||
         start.template operator()<64, 128, 4, kFirst>() ||
         start.template operator()<96, 64, 4, kFirst>() ||
         start.template operator()<128, 64, 4, kFirst>() ||
         start.template operator()<192, 64, 3, kFirst>() ||
         start.template operator()<256, 64, 3, kFirst>();
}

}  // namespace attnscope::kernels
