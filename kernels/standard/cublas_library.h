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

#include "kernels/shared_library.h"
#include "kernels/standard/batched_product.h"
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

/// A handle of one device and one stream, so that no other stream writes to its cuBLAS workspace.
/// Its functions throw GpuError, with the error that cuBLAS reports.
class CublasHandle {
 public:
  /// A handle of the current device.
  CublasHandle(const CublasLibrary& cublas, void* stream);

  /// result = scale * left right, with fp32 accumulation, for a product of one batch entry.
  void multiply(const HeadProduct& product, DType dtype, double scale);

 private:
  const CublasLibrary cublas_;
  std::unique_ptr<cublasContext, decltype(&cublasDestroy_v2)> handle_;
  std::mutex mutex_;  ///< held during every call with the handle
};

/// The handles of one GPU. Any thread may use it.
class CublasHandles {
 public:
  /// The stream's handle on the current device: created by the first call and reused. Throws
  /// GpuError if neither libcublas.so.13 nor .12 can be loaded, or if cuBLAS fails to start; the
  /// next call retries.
  std::shared_ptr<CublasHandle> of(void* stream);

 private:
  std::mutex mutex_;
  std::optional<Result<CublasLibrary>> library_;            ///< set by the first attempt to load it
  std::map<void*, std::shared_ptr<CublasHandle>> handles_;  ///< by stream
};

}  // namespace attnscope::kernels
