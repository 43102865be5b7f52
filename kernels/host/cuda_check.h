/// Checked CUDA calls. Internal to kernels/ and the GPU tests.
#pragma once

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>

#include "kernels/program_target.h"
#include "reference/result.h"

namespace attnscope::kernels {

/// A failed CUDA call; what() gives the expression, its source location and CUDA's name for the
/// error.
class CudaError : public std::runtime_error {
 public:
  CudaError(cudaError_t error_code, const std::string& message)
      : std::runtime_error(message), code(error_code) {}
  cudaError_t code;
};

/// A kernel needs more than this GPU has; what() names the resource and an alternative.
class GpuTooSmall : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A library that a launch needs (NVRTC, cuBLAS) is missing, too old, or fails.
class NotLaunched : public std::runtime_error {
 public:
  explicit NotLaunched(const Error& reason) : std::runtime_error(reason.message), error(reason) {}
  Error error;
};

/// Properties of the current device. They throw CudaError.
int device_attribute(cudaDeviceAttr attribute);
std::string compute_capability();  ///< "9.0"
ProgramTarget current_gpu();

/// A function of the driver loaded by the run-time library, in its version of the given CUDA
/// release, 12000 for 12.0; null if the driver lacks it. Throws CudaError.
void* driver_function(const char* name, unsigned cuda_version);

/// Throws CudaError unless code is cudaSuccess.
void check_cuda(cudaError_t code, const char* expression, const char* file, int line);

/// For destructors: prints a failure to standard error and continues.
void log_cuda_failure(cudaError_t code, const char* expression, const char* file,
                      int line) noexcept;

}  // namespace attnscope::kernels

/// ATTNSCOPE_CUDA(cudaMalloc(...)): throws with the expression, its source location and the error.
#define ATTNSCOPE_CUDA(call) ::attnscope::kernels::check_cuda((call), #call, __FILE__, __LINE__)

/// The same for destructors: prints the failure and continues.
#define ATTNSCOPE_CUDA_NO_THROW(call) \
  ::attnscope::kernels::log_cuda_failure((call), #call, __FILE__, __LINE__)
