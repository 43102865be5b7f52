/// The instrumented instances of flash2's backward launch in 16 bits and, where the parameters have
/// lists of tiles, of block_sparse2's.
#include "kernels/flash2/flash2_backward.cuh"
#include "kernels/flash2/flash2_backward_start.h"
#include "kernels/host/launch_kernel.h"
#include "kernels/trace/traced_types.cuh"

namespace attnscope::kernels {

bool start_flash2_backward_traced(const BackwardParameters& parameters, const TraceBuffer& trace,
                                  DType dtype, Index batch, Index d, const Tiling& tiling,
                                  void* stream) {
  if (dtype == DType::fp32) {
    return start_flash2_backward_fp32_traced(parameters, trace, batch, d, tiling, stream);
  }
  using device::BlockTrace;
  using device::Columns;
  using device::Visits;
  const BlockTrace::Parameters<BackwardParameters> traced{parameters, trace};
  const auto start = [&]<typename T, int kHeadDim, int Br, int Bc, Visits kVisits = Visits::all>() {
    const bool fits = dtype == kDTypeOf<T> && d == kHeadDim && tiling == Tiling{Br, Bc};
    const bool has_lists = parameters.row_tiles != nullptr;
    if (!fits || has_lists != (kVisits == Visits::listed)) return false;
    constexpr int kWarps = Bc / 16;
    const Index blocks = batch * parameters.shape.heads * ceil_div(parameters.shape.N_kv, Bc);
    start_kernel(flash2_backward<T, kHeadDim, Br, Bc, kWarps, Columns::all, kVisits, BlockTrace>,
                 blocks, kWarps * 32, Flash2BackwardShared<Br, Bc, kHeadDim>::kBytes, stream,
                 traced);
    return true;
  };
  return start.template operator()<device::Fp16, 16, 16, 16>() ||
         start.template operator()<device::Fp16, 16, 16, 16, Visits::listed>() ||
         start.template operator()<device::Bf16, 16, 16, 16>() ||
         start.template operator()<device::Bf16, 16, 16, 16, Visits::listed>() ||
         start.template operator()<device::Bf16, 64, 128, 128>() ||
         start.template operator()<device::Bf16, 64, 128, 128, Visits::listed>() ||
         start.template operator()<device::Bf16, 128, 64, 128>() ||
         start.template operator()<device::Bf16, 128, 64, 128, Visits::listed>();
}

}  // namespace attnscope::kernels
