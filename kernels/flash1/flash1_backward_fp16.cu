#include "kernels/flash1/flash1_backward_instances.cuh"

namespace attnscope::kernels {

bool start_flash1_backward_fp16(const Flash1BackwardParameters& parameters, Index batch, Index d,
                                const Tiling& tiling, void* stream) {
  return start_flash1_backward<device::Fp16>(parameters, batch, d, tiling, stream);
}

}  // namespace attnscope::kernels
