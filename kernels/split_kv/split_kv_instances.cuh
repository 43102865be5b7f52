/// The compiled instances of split_kv_partial for one 16-bit type, the twins of the catalog's
/// table.
#pragma once

#include "kernels/host/launch_kernel.h"
#include "kernels/split_kv/split_kv_partial.cuh"

namespace attnscope::kernels {

/// Starts the instance for head dimension d and the tiling; false when there is none.
template <typename T>
bool start_split_kv_partial(const SplitKvParameters& parameters, Index batch, Index d,
                            const Tiling& tiling, void* stream) {
  const auto start = [&]<int kHeadDim, int Bc, int kStages>() {
    if (d != kHeadDim || tiling != Tiling{kSplitRows, Bc}) return false;
    constexpr int kWarps = 4;
    const Index Tr = ceil_div(parameters.shape.N, kSplitRows);
    start_kernel(split_kv_partial<T, kHeadDim, Bc, kWarps, kStages>,
                 batch * parameters.shape.heads * Tr * parameters.splits, kWarps * 32,
                 SplitKvShared<Bc, kHeadDim, kWarps, kStages>::kBytes, stream, parameters);
    return true;
  };
  return start.template operator()<16, 128, 4>() || start.template operator()<32, 128, 4>() ||
         start.template operator()<64, 128, 4>() || start.template operator()<128, 64, 4>();
}

}  // namespace attnscope::kernels
