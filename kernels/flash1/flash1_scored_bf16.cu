#include "kernels/flash1/flash1_scored_instances.cuh"

namespace attnscope::kernels {

bool start_flash1_scored_bf16(const ScoredFlash1Parameters& parameters, bool carries_fp32,
                              Index batch, Index d, const Tiling& tiling, void* stream) {
  return carries_fp32
             ? start_flash1_scored<device::Bf16, float>(parameters, batch, d, tiling, stream)
             : start_flash1_scored<device::Bf16, device::Bf16>(parameters, batch, d, tiling,
                                                               stream);
}

bool start_flash1_backward_scored_bf16(const Flash1BackwardParameters& parameters, Index batch,
                                       Index d, const Tiling& tiling, void* stream) {
  return start_flash1_backward_scored<device::Bf16>(parameters, batch, d, tiling, stream);
}

}  // namespace attnscope::kernels
