/// The instrumented instances of flash1's backward pass.
#include "kernels/flash1/flash1_backward.cuh"
#include "kernels/flash1/flash1_backward_start.h"
#include "kernels/host/launch_kernel.h"
#include "kernels/trace/traced_types.cuh"

namespace attnscope::kernels {

bool start_flash1_backward_traced(const Flash1BackwardParameters& parameters,
                                  const TraceBuffer& trace, DType dtype, Index batch, Index d,
                                  const Tiling& tiling, void* stream) {
  using device::BlockTrace;
  const BlockTrace::Parameters<Flash1BackwardParameters> traced{parameters, trace};
  const auto start = [&]<typename T, int kHeadDim, int Br, int Bc, int kWarps>() {
    const bool fits = dtype == kDTypeOf<T> && d == kHeadDim && tiling == Tiling{Br, Bc};
    if (!fits) return false;
    start_kernel(flash1_backward<T, kHeadDim, Br, Bc, kWarps, device::Columns::all, BlockTrace>,
                 batch * parameters.shared.shape.heads, kWarps * 32,
                 Flash1BackwardShared<Br, Bc, kHeadDim>::kBytes, stream, traced);
    return true;
  };
  return start.template operator()<device::Fp16, 16, 16, 16, 1>() ||
         start.template operator()<device::Bf16, 16, 16, 16, 1>() ||
         start.template operator()<device::Bf16, 64, 64, 128, 8>() ||
         start.template operator()<device::Bf16, 128, 64, 128, 8>();
}

}  // namespace attnscope::kernels
