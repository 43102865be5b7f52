/// cuBLAS, loaded at run time: its absence is an answer (unavailable), not a failure to start.
/// Internal.
#pragma once

#include <cublas_v2.h>

#include "reference/result.h"

namespace attnscope::kernels {

/// cublasGemmStridedBatchedEx; the header overloads its name, so that its type must be written out.
using GemmStridedBatched = cublasStatus_t (*)(
    cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n, int k,
    const void* alpha, const void* a, cudaDataType type_a, int lda, long long stride_a,
    const void* b, cudaDataType type_b, int ldb, long long stride_b, const void* beta, void* c,
    cudaDataType type_c, int ldc, long long stride_c, int batch_count,
    cublasComputeType_t compute_type, cublasGemmAlgo_t algorithm);

/// The entry points that standard attention uses, and a handle of the current device.
struct CublasLibrary {
  cublasHandle_t handle = nullptr;
  decltype(&cublasSetStream_v2) set_stream = nullptr;
  GemmStridedBatched gemm_strided_batched = nullptr;
  decltype(&cublasGetStatusString) status_string = nullptr;
};

/// Loads libcublas.so.13 or .12 at the first call. One thread uses the GPU, and it keeps the handle
/// until the process ends.
Result<const CublasLibrary*> cublas_library();

}  // namespace attnscope::kernels
