/// What the launches on one GPU share. Internal to kernels/.
#pragma once

#include "kernels/host/compiled_kernels.h"
#include "kernels/host/device_table.h"
#include "kernels/standard/cublas_library.h"

namespace attnscope::kernels {

/// Uploaded arrays, cuBLAS handles and compiled kernels, kept from launch to launch. Its owner, a
/// Session, destroys it on the thread of its GPU, before the GPU is released. Any thread may launch
/// with it.
struct LaunchResources {
  DeviceTables tables;
  CublasHandles cublas;
  CompiledKernels kernels;
};

}  // namespace attnscope::kernels
