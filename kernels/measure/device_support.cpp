#include "kernels/measure/device_support.h"

#include <fmt/core.h>

#include "kernels/catalog.h"

namespace attnscope::kernels {

Error no_code_for(std::string_view gpu_name, int major, int minor, std::string_view architectures) {
  if (auto error = check_compute_capability(gpu_name, fmt::format("{}.{}", major, minor))) {
    return *error;
  }
  return unavailable(fmt::format(
      "{} has compute capability {}.{}; this build holds code for {} alone; configure it with "
      "-DCMAKE_CUDA_ARCHITECTURES={}{}",
      gpu_name, major, minor, architectures, major, minor));
}

}  // namespace attnscope::kernels
