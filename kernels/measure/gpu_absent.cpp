/// Replaces gpu.cpp in builds without the kernels.
#include "kernels/measure/gpu.h"

namespace attnscope {

Result<std::shared_ptr<Gpu>> Gpu::open() {
  return unavailable(
      "this build has no kernels; build AttnScope where the CUDA toolkit is installed, with "
      "ATTNSCOPE_KERNELS=ON");
}

}  // namespace attnscope
