#include "kernels/flash2/flash2_instances.cuh"

namespace attnscope::kernels {

bool start_flash2_fp16(const ForwardParameters& parameters, Index batch, Index d,
                       const Tiling& tiling, void* stream) {
  return start_flash2<device::Fp16>(parameters, batch, d, tiling, stream);
}

}  // namespace attnscope::kernels
