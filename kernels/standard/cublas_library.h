/// cuBLAS, loaded at run time: without it the program still starts, and `standard` is unavailable.
/// Internal.
#pragma once

#include <cublas_v2.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "kernels/kernel_parameters.h"
#include "kernels/shared_library.h"
#include "reference/result.h"

namespace attnscope::kernels {

/// The entry points that standard attention uses.
struct CublasLibrary {
  SharedLibrary library;
  decltype(&cublasCreate_v2) create = library.require("cublasCreate_v2");
  decltype(&cublasDestroy_v2) destroy = library.require("cublasDestroy_v2");
  decltype(&cublasSetStream_v2) set_stream = library.require("cublasSetStream_v2");
  decltype(&cublasGemmStridedBatchedEx_64) gemm_strided_batched =
      library.require("cublasGemmStridedBatchedEx_64");
  decltype(&cublasGetStatusString) status_string = library.require("cublasGetStatusString");
};

/// The entry points in the first of the named libraries that can be loaded; it stays loaded.
/// unavailable, with a remedy in one line, if none can be loaded or the library lacks an entry
/// point.
Result<CublasLibrary> load_cublas(const std::vector<std::string>& names);

/// cuBLAS on one GPU. Any thread may use it.
class Cublas {
 public:
  /// Enqueues result = scale * left right, with fp32 accumulation, for a product of one batch
  /// entry. The first call loads the library; the stream's first call on the current device creates
  /// its handle. Throws GpuError if neither libcublas.so.13 nor .12 can be loaded, or if cuBLAS
  /// fails.
  void multiply(const HeadProduct& product, DType dtype, double scale, void* stream);

 private:
  using Handle = std::unique_ptr<cublasContext, decltype(&cublasDestroy_v2)>;
  cublasHandle_t handle_of(void* stream);
  void check(const char* call, cublasStatus_t status) const;

  std::mutex mutex_;  ///< guards the members below, and calls with the handles
  std::optional<Result<CublasLibrary>> library_;
  std::map<void*, Handle> handles_;  ///< by stream: no other writes to a handle's cuBLAS workspace
};

}  // namespace attnscope::kernels
