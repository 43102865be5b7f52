/// The instrumented instances of flash1: bf16, carry in the problem's precision.
#include "kernels/flash1/flash1_forward.cuh"
#include "kernels/host/launch_kernel.h"

namespace attnscope::kernels {

bool start_flash1_traced(const Flash1Parameters& parameters, const TraceBuffer& trace, Index batch,
                         Index d, const Tiling& tiling, void* stream) {
  using device::BlockTrace;
  using T = __nv_bfloat16;
  const BlockTrace::Parameters<Flash1Parameters> traced{parameters, trace};
  const auto start = [&]<int kHeadDim, int Br, int Bc>() {
    if (d != kHeadDim || tiling != Tiling{Br, Bc}) return false;
    start_kernel(flash1_forward<T, T, kHeadDim, Br, Bc, BlockTrace>, batch * parameters.shape.heads,
                 Br / 16 * 32, Flash1Shared<T, Br, Bc, kHeadDim>::kBytes, stream, traced);
    return true;
  };
  return start.template operator()<16, 16, 16>() || start.template operator()<64, 128, 256>() ||
         start.template operator()<128, 128, 128>();
}

}  // namespace attnscope::kernels
