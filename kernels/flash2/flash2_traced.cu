/// The instrumented instances of flash2 in 16 bits and, where the parameters have lists of tiles,
/// of block_sparse2.
#include "kernels/flash2/flash2_forward.cuh"
#include "kernels/flash2/flash2_forward_shared.h"
#include "kernels/flash2/flash2_start.h"
#include "kernels/host/launch_kernel.h"
#include "kernels/trace/traced_types.cuh"

namespace attnscope::kernels {

bool start_flash2_traced(const ForwardParameters& parameters, const TraceBuffer& trace, DType dtype,
                         Index batch, Index d, const Tiling& tiling, void* stream) {
  if (dtype == DType::fp32) {
    return start_flash2_fp32_traced(parameters, trace, batch, d, tiling, stream);
  }
  using device::BlockTrace;
  using device::Columns;
  using device::Visits;
  const BlockTrace::Parameters<ForwardParameters> traced{parameters, trace};
  const auto start = [&]<typename T, int kHeadDim, int Br, int Bc, int kWarps, int kBlocksPerSm,
                         Visits kVisits = Visits::all>() {
    const bool fits = dtype == kDTypeOf<T> && d == kHeadDim && tiling == Tiling{Br, Bc};
    const bool has_lists = parameters.column_tiles != nullptr;
    if (!fits || has_lists != (kVisits == Visits::listed)) return false;
    const Index blocks = batch * parameters.shape.heads * ceil_div(parameters.shape.N, Br);
    start_kernel(flash2_forward<T, kHeadDim, Br, Bc, kWarps, kBlocksPerSm, Columns::all, kVisits,
                                BlockTrace>,
                 blocks, kWarps * 32,
                 static_cast<int>(flash2_forward_shared_bytes(kHeadDim, {Br, Bc})), stream, traced);
    return true;
  };
  return start.template operator()<device::Fp16, 16, 16, 16, 1, 1>() ||
         start.template operator()<device::Fp16, 16, 16, 16, 1, 1, Visits::listed>() ||
         start.template operator()<device::Bf16, 16, 16, 16, 1, 1>() ||
         start.template operator()<device::Bf16, 16, 16, 16, 1, 1, Visits::listed>() ||
         start.template operator()<device::Bf16, 64, 128, 128, 4, 2>() ||
         start.template operator()<device::Bf16, 64, 128, 128, 4, 2, Visits::listed>() ||
         start.template operator()<device::Bf16, 128, 128, 64, 4, 2>() ||
         start.template operator()<device::Bf16, 128, 128, 64, 4, 2, Visits::listed>();
}

}  // namespace attnscope::kernels
