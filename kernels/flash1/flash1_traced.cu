/// The instrumented instances of flash1 in 16 bits, O carried in the problem's precision.
#include "kernels/flash1/flash1_forward.cuh"
#include "kernels/flash1/flash1_start.h"
#include "kernels/host/launch_kernel.h"
#include "kernels/trace/traced_types.cuh"

namespace attnscope::kernels {

bool start_flash1_traced(const Flash1Parameters& parameters, const TraceBuffer& trace, DType dtype,
                         Index batch, Index d, const Tiling& tiling, void* stream) {
  if (dtype == DType::fp32) {
    return start_flash1_fp32_traced(parameters, trace, batch, d, tiling, stream);
  }
  using device::BlockTrace;
  const BlockTrace::Parameters<Flash1Parameters> traced{parameters, trace};
  const auto start = [&]<typename T, int kHeadDim, int Br, int Bc>() {
    const bool fits = dtype == kDTypeOf<T> && d == kHeadDim && tiling == Tiling{Br, Bc};
    if (!fits) return false;
    start_kernel(flash1_forward<T, T, kHeadDim, Br, Bc, device::Columns::all, BlockTrace>,
                 batch * parameters.shape.heads, Br / 16 * 32,
                 Flash1Shared<T, Br, Bc, kHeadDim>::kBytes, stream, traced);
    return true;
  };
  return start.template operator()<device::Fp16, 16, 16, 16>() ||
         start.template operator()<device::Bf16, 16, 16, 16>() ||
         start.template operator()<device::Bf16, 64, 128, 256>() ||
         start.template operator()<device::Bf16, 128, 128, 256>();
}

}  // namespace attnscope::kernels
