/// Checked CUDA calls. Internal to kernels/ and the GPU tests.
#pragma once

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>

#include "kernels/program_target.h"
#include "reference/result.h"

namespace attnscope::kernels {

/// A failure of the GPU or of a library; what() is the error's message.
class GpuError : public std::runtime_error {
 public:
  explicit GpuError(const Error& reason) : std::runtime_error(reason.message), error(reason) {}
  Error error;
};

/// A failed CUDA call; the message gives the expression, its source location and CUDA's name for
/// the error.
class CudaError : public GpuError {
 public:
  CudaError(cudaError_t error_code, const std::string& message)
      : GpuError(failed(message)), code(error_code) {}
  cudaError_t code;
};

/// Properties of the current device. They throw CudaError.
int device_attribute(cudaDeviceAttr attribute);
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
