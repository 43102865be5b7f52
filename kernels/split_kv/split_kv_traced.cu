/// The instrumented instances of split_kv's launch "partial".
#include "kernels/host/launch_kernel.h"
#include "kernels/split_kv/split_kv_partial.cuh"
#include "kernels/split_kv/split_kv_shared.h"
#include "kernels/split_kv/split_kv_start.h"
#include "kernels/trace/traced_types.cuh"

namespace attnscope::kernels {

bool start_split_kv_traced(const SplitKvParameters& parameters, const TraceBuffer& trace,
                           DType dtype, Index batch, Index d, const Tiling& tiling, void* stream) {
  using device::BlockTrace;
  BlockTrace::Parameters<SplitKvParameters> traced{parameters, trace};
  const Index Tr = ceil_div(parameters.shape.N, kSplitRows);
  traced.trace.blocks_per_head = static_cast<int>(Tr) * parameters.splits;
  const auto start = [&]<typename T, int kHeadDim, int Bc, int kStages>() {
    const bool fits = dtype == kDTypeOf<T> && d == kHeadDim && tiling == Tiling{kSplitRows, Bc};
    if (!fits) return false;
    start_kernel(
        split_kv_partial<T, kHeadDim, Bc, kSplitWarps, kStages, device::Columns::all, BlockTrace>,
        batch * parameters.shape.heads * traced.trace.blocks_per_head, kSplitWarps * 32,
        SplitKvShared<Bc, kHeadDim, kSplitWarps, kStages>::kBytes, stream, traced);
    return true;
  };
  return start.template operator()<device::Fp16, 16, 128, 4>() ||
         start.template operator()<device::Bf16, 16, 128, 4>() ||
         start.template operator()<device::Bf16, 64, 128, 4>() ||
         start.template operator()<device::Bf16, 128, 64, 4>();
}

}  // namespace attnscope::kernels
