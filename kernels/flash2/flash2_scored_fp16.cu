#include "kernels/flash2/flash2_scored_instances.cuh"

namespace attnscope::kernels {

bool start_flash2_backward_scored_fp16(const BackwardParameters& parameters, Index batch, Index d,
                                       const Tiling& tiling, void* stream) {
  return start_flash2_backward_scored<device::Fp16>(parameters, batch, d, tiling, stream);
}

}  // namespace attnscope::kernels
