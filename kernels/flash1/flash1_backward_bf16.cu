#include "kernels/flash1/flash1_backward_instances.cuh"

namespace attnscope::kernels {

bool start_flash1_backward_bf16(const Flash1BackwardParameters& parameters, Index batch, Index d,
                                const Tiling& tiling, void* stream) {
  return start_flash1_backward<__nv_bfloat16>(parameters, batch, d, tiling, stream);
}

}  // namespace attnscope::kernels
