#include "kernels/host/cuda_check.h"

#include <fmt/format.h>

#include <cstdio>

namespace attnscope::kernels {

CudaError::CudaError(cudaError_t code, const char* expression, const char* file, int line)
    : std::runtime_error(fmt::format("{}:{}: {} failed: {} ({})", file, line, expression,
                                     cudaGetErrorName(code), cudaGetErrorString(code))),
      code_(code) {}

void check_cuda(cudaError_t code, const char* expression, const char* file, int line) {
  if (code != cudaSuccess) throw CudaError(code, expression, file, line);
}

void log_cuda_failure(cudaError_t code, const char* expression, const char* file,
                      int line) noexcept {
  if (code == cudaSuccess || code == cudaErrorCudartUnloading) return;  // the program is ending
  std::fprintf(stderr, "%s:%d: %s failed: %s\n", file, line, expression, cudaGetErrorName(code));
}

}  // namespace attnscope::kernels
