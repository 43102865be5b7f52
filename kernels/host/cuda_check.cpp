#include "kernels/host/cuda_check.h"

#include <fmt/core.h>

#include <cstdio>

namespace attnscope::kernels {

void check_cuda(cudaError_t code, const char* expression, const char* file, int line) {
  if (code == cudaSuccess) return;
  throw CudaError(code, fmt::format("{}:{}: {} failed: {} ({})", file, line, expression,
                                    cudaGetErrorName(code), cudaGetErrorString(code)));
}

int device_attribute(cudaDeviceAttr attribute) {
  int device = 0, value = 0;
  ATTNSCOPE_CUDA(cudaGetDevice(&device));
  ATTNSCOPE_CUDA(cudaDeviceGetAttribute(&value, attribute, device));
  return value;
}

ProgramTarget current_gpu() {
  return {fmt::format("{}.{}", device_attribute(cudaDevAttrComputeCapabilityMajor),
                      device_attribute(cudaDevAttrComputeCapabilityMinor)),
          device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin),
          device_attribute(cudaDevAttrMultiProcessorCount)};
}

void* driver_function(const char* name, unsigned cuda_version) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  ATTNSCOPE_CUDA(
      cudaGetDriverEntryPointByVersion(name, &function, cuda_version, cudaEnableDefault, &found));
  return function;
}

void log_cuda_failure(cudaError_t code, const char* expression, const char* file,
                      int line) noexcept {
  if (code == cudaSuccess || code == cudaErrorCudartUnloading) return;  // the program is exiting
  std::fprintf(stderr, "%s:%d: %s failed: %s\n", file, line, expression, cudaGetErrorName(code));
}

}  // namespace attnscope::kernels
