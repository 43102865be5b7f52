/// The instrumented instances of flash1's backward pass: bf16.
#include "kernels/flash1/flash1_backward.cuh"
#include "kernels/flash1/flash1_backward_start.h"
#include "kernels/host/launch_kernel.h"

namespace attnscope::kernels {

bool start_flash1_backward_traced(const Flash1BackwardParameters& parameters,
                                  const TraceBuffer& trace, Index batch, Index d,
                                  const Tiling& tiling, void* stream) {
  using device::BlockTrace;
  const BlockTrace::Parameters<Flash1BackwardParameters> traced{parameters, trace};
  const auto start = [&]<int kHeadDim, int Br, int Bc, int kWarps>() {
    if (d != kHeadDim || tiling != Tiling{Br, Bc}) return false;
    start_kernel(flash1_backward<__nv_bfloat16, kHeadDim, Br, Bc, kWarps, BlockTrace>,
                 batch * parameters.shared.shape.heads, kWarps * 32,
                 Flash1BackwardShared<Br, Bc, kHeadDim>::kBytes, stream, traced);
    return true;
  };
  return start.template operator()<16, 16, 16, 1>() ||
         start.template operator()<64, 64, 128, 8>() || start.template operator()<128, 64, 64, 8>();
}

}  // namespace attnscope::kernels
