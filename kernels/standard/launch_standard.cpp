/// Standard attention, forward (arXiv 2205.14135, Algorithm 0): the launches "scores", "softmax"
/// and "output". The twin of sim/schedule/standard_forward.cpp.
///
/// cuBLAS is column-major: a row-major [rows x columns] matrix is its transpose there, so each
/// product is written with its operands exchanged: S^T = K Q^T, O^T = V^T P^T.
#include <fmt/format.h>

#include <cstddef>

#include "kernels/launches.h"
#include "kernels/standard/batched_product.h"
#include "kernels/standard/cublas_library.h"
#include "kernels/standard/softmax_forward.h"
#include "kernels/workspace.h"

namespace attnscope::kernels {

namespace {

cudaDataType_t cuda_type(DType dtype) {
  switch (dtype) {
    case DType::fp32:
      return CUDA_R_32F;
    case DType::fp16:
      return CUDA_R_16F;
    case DType::bf16:
      return CUDA_R_16BF;
  }
  return CUDA_R_32F;
}

const void* element(const void* data, Index index, DType dtype) {
  return static_cast<const std::byte*>(data) + index * size_bytes(dtype);
}

void* element(void* data, Index index, DType dtype) {
  return static_cast<std::byte*>(data) + index * size_bytes(dtype);
}

/// S = softmax_scale Q K^T.
cublasStatus_t multiply_scores(const CublasLibrary& cublas, const ForwardArguments& arguments,
                               void* S) {
  const AttentionProblem& problem = arguments.problem;
  const cudaDataType_t type = cuda_type(problem.dtype);
  const float alpha = static_cast<float>(problem.softmax_scale());
  const float beta = 0.0f;
  for (const ProductBatch& batch : product_batches(problem, arguments.Q, arguments.K)) {
    const cublasStatus_t status = cublas.gemm_strided_batched(
        cublas.handle, CUBLAS_OP_T, CUBLAS_OP_N, static_cast<int>(problem.N_kv),
        static_cast<int>(batch.rows), static_cast<int>(problem.d), &alpha,
        element(arguments.K.data_dev, batch.key_offset, problem.dtype), type,
        static_cast<int>(arguments.K.stride_row), batch.key_stride,
        element(arguments.Q.data_dev, batch.query_offset, problem.dtype), type,
        static_cast<int>(arguments.Q.stride_row), batch.query_stride, &beta,
        element(S, batch.score_offset, problem.dtype), type, static_cast<int>(problem.N_kv),
        batch.score_stride, static_cast<int>(batch.count), CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
  }
  return CUBLAS_STATUS_SUCCESS;
}

/// O = P V.
cublasStatus_t multiply_output(const CublasLibrary& cublas, const ForwardArguments& arguments,
                               const void* P) {
  const AttentionProblem& problem = arguments.problem;
  const cudaDataType_t type = cuda_type(problem.dtype);
  const float alpha = 1.0f;
  const float beta = 0.0f;
  for (const ProductBatch& batch : product_batches(problem, arguments.O, arguments.V)) {
    const cublasStatus_t status = cublas.gemm_strided_batched(
        cublas.handle, CUBLAS_OP_N, CUBLAS_OP_N, static_cast<int>(problem.d),
        static_cast<int>(batch.rows), static_cast<int>(problem.N_kv), &alpha,
        element(arguments.V.data_dev, batch.key_offset, problem.dtype), type,
        static_cast<int>(arguments.V.stride_row), batch.key_stride,
        element(P, batch.score_offset, problem.dtype), type, static_cast<int>(problem.N_kv),
        batch.score_stride, &beta, element(arguments.O.data_dev, batch.query_offset, problem.dtype),
        type, static_cast<int>(arguments.O.stride_row), batch.query_stride,
        static_cast<int>(batch.count), CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
  }
  return CUBLAS_STATUS_SUCCESS;
}

std::optional<Error> product_failure(const CublasLibrary& cublas, std::string_view product,
                                     cublasStatus_t status) {
  if (status == CUBLAS_STATUS_SUCCESS) return std::nullopt;
  return failed(fmt::format("cuBLAS failed in {}: {}", product, cublas.status_string(status)));
}

}  // namespace

std::optional<Error> launch_standard(const ForwardArguments& arguments) {
  const auto library = cublas_library();
  if (!library) return library.error();
  const CublasLibrary& cublas = *library.value();
  const AttentionProblem& problem = arguments.problem;
  const StandardWorkspace layout = standard_workspace(problem);
  auto* const workspace = static_cast<std::byte*>(arguments.workspace_dev);
  void* const S = workspace + layout.S_offset;
  void* const P = workspace + layout.P_offset;
  cublasStatus_t status =
      cublas.set_stream(cublas.handle, static_cast<cudaStream_t>(arguments.stream));
  if (auto error = product_failure(cublas, "cublasSetStream", status)) return error;

  named_launch(arguments, "scores", [&] { status = multiply_scores(cublas, arguments, S); });
  if (auto error = product_failure(cublas, "S = Q K^T", status)) return error;
  named_launch(arguments, "softmax", [&] {
    start_softmax_forward({.shape = forward_shape(problem),
                           .rows = problem.batch * problem.heads * problem.N,
                           .S = S,
                           .P = P,
                           .LSE = arguments.LSE_dev},
                          problem.dtype, arguments.stream);
  });
  named_launch(arguments, "output", [&] { status = multiply_output(cublas, arguments, P); });
  return product_failure(cublas, "O = P V", status);
}

}  // namespace attnscope::kernels
