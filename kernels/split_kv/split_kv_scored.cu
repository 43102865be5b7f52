/// The compiled instances of split_kv_partial with score functions: every head dimension in one of
/// three widths, each in the tiling that the catalog has for it.
#include "kernels/host/launch_kernel.h"
#include "kernels/split_kv/split_kv_partial.cuh"
#include "kernels/split_kv/split_kv_shared.h"
#include "kernels/split_kv/split_kv_start.h"

namespace attnscope::kernels {

namespace {

template <typename T>
bool start_split_kv_scored(const ScoredSplitKvParameters& parameters, Index batch, Index d,
                           const Tiling& tiling, void* stream) {
  const auto start = [&]<int kWidth, int Bc, int kStages>() {
    if (d > kWidth || tiling != Tiling{kSplitRows, Bc}) return false;
    using Scores = SplitScoreFunctions::Rows<kSplitRows, Bc, Bc / kSplitWarps>;
    const Index Tr = ceil_div(parameters.shape.N, kSplitRows);
    start_kernel(split_kv_partial<T, kWidth, Bc, kSplitWarps, kStages, device::Columns::first,
                                  device::NoTrace, SplitScoreFunctions>,
                 batch * parameters.shape.heads * Tr * parameters.splits, kSplitWarps * 32,
                 SplitKvShared<Bc, kWidth, kSplitWarps, kStages>::kBytes + Scores::kSharedBytes,
                 stream, parameters);
    return true;
  };
  return start.template operator()<64, 128, 4>() || start.template operator()<128, 64, 4>() ||
         start.template operator()<256, 64, 3>();
}

}  // namespace

bool start_split_kv_scored_fp16(const ScoredSplitKvParameters& parameters, Index batch, Index d,
                                const Tiling& tiling, void* stream) {
  return start_split_kv_scored<device::Fp16>(parameters, batch, d, tiling, stream);
}

bool start_split_kv_scored_bf16(const ScoredSplitKvParameters& parameters, Index batch, Index d,
                                const Tiling& tiling, void* stream) {
  return start_split_kv_scored<device::Bf16>(parameters, batch, d, tiling, stream);
}

}  // namespace attnscope::kernels
