#include "kernels/flash1/flash1_scored_instances.cuh"

namespace attnscope::kernels {

bool start_flash1_scored_fp16(const ScoredFlash1Parameters& parameters, bool carries_fp32,
                              Index batch, Index d, const Tiling& tiling, void* stream) {
  return carries_fp32
             ? start_flash1_scored<device::Fp16, float>(parameters, batch, d, tiling, stream)
             : start_flash1_scored<device::Fp16, device::Fp16>(parameters, batch, d, tiling,
                                                               stream);
}

bool start_flash1_backward_scored_fp16(const Flash1BackwardParameters& parameters, Index batch,
                                       Index d, const Tiling& tiling, void* stream) {
  return start_flash1_backward_scored<device::Fp16>(parameters, batch, d, tiling, stream);
}

}  // namespace attnscope::kernels
