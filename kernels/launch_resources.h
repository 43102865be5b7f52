/// The resources that the launches on one GPU share. Internal to kernels/.
#pragma once

#include "kernels/host/compiled_kernels.h"
#include "kernels/host/device_buffer.h"
#include "kernels/standard/cublas_library.h"

namespace attnscope::kernels {

/// Uploaded arrays, cuBLAS handles and compiled kernels, kept between launches. The Session that
/// owns them destroys them on its GPU's thread, before the GPU is released. Any thread may launch
/// with them.
struct LaunchResources {
  DeviceTables tables;
  Cublas cublas;
  CompiledKernels kernels{};
};

}  // namespace attnscope::kernels
