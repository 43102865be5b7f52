#include "kernels/flash1/flash1_instances.cuh"

namespace attnscope::kernels {

bool start_flash1_bf16(const Flash1Parameters& parameters, bool carries_fp32, Index batch, Index d,
                       const Tiling& tiling, void* stream) {
  return carries_fp32
             ? start_flash1<device::Bf16, float>(parameters, batch, d, tiling, stream)
             : start_flash1<device::Bf16, device::Bf16>(parameters, batch, d, tiling, stream);
}

}  // namespace attnscope::kernels
