#include "kernels/standard/head_products.h"

#include <cstddef>

#include "kernels/host/cuda_check.h"
#include "kernels/standard/batched_product.h"
#include "kernels/standard/cublas_library.h"

namespace attnscope::kernels {

namespace {

cudaDataType_t cuda_type(DType dtype) {
  if (dtype == DType::fp32) return CUDA_R_32F;
  return dtype == DType::fp16 ? CUDA_R_16F : CUDA_R_16BF;
}

/// One matrix of each product of a batch, in the form that cuBLAS accepts. cuBLAS is column-major:
/// it sees a row-major matrix as its transpose.
struct Operand {
  const void* data_dev;
  Index offset;  ///< elements
  Index stride_row;
  Index stride_product;
  cublasOperation_t operation = CUBLAS_OP_N;
};

Operand query_operand(const TensorView& tensor, const ProductBatch& batch) {
  return {tensor.data_dev, batch.query_offset, tensor.stride_row, batch.query_stride};
}

Operand key_operand(const TensorView& tensor, const ProductBatch& batch) {
  return {tensor.data_dev, batch.key_offset, tensor.stride_row, batch.key_stride};
}

Operand score_operand(const void* scores, const ProductBatch& batch, Index N_kv) {
  return {scores, batch.score_offset, N_kv, batch.score_stride};
}

Operand transposed(Operand operand) {
  operand.operation = CUBLAS_OP_T;
  return operand;
}

/// result [columns x rows, column-major] = scale * left right, summed over `inner`.
struct Product {
  Operand result, left, right;
  Index columns, rows, inner;
};

/// `count` such products.
void multiply(CublasHandle& cublas, DType dtype, const Product& product, Index count,
              double scale) {
  const cudaDataType_t type = cuda_type(dtype);
  const auto alpha = static_cast<float>(scale);
  const float beta = 0.0f;
  const auto address = [&](const Operand& operand) {
    return static_cast<const std::byte*>(operand.data_dev) + operand.offset * size_bytes(dtype);
  };
  const auto& [result, left, right, columns, rows, inner] = product;
  const std::scoped_lock lock(cublas.mutex);
  const cublasStatus_t status = cublas.library.gemm_strided_batched(
      cublas.handle, left.operation, right.operation, static_cast<int>(columns),
      static_cast<int>(rows), static_cast<int>(inner), &alpha, address(left), type,
      static_cast<int>(left.stride_row), left.stride_product, address(right), type,
      static_cast<int>(right.stride_row), right.stride_product, &beta,
      const_cast<std::byte*>(address(result)), type, static_cast<int>(result.stride_row),
      result.stride_product, static_cast<int>(count), CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw NotLaunched(
      failed("cuBLAS failed in a matrix product: {}", cublas.library.status_string(status)));
}

std::shared_ptr<CublasHandle> handle_of(CublasHandles& handles, void* stream) {
  auto handle = handles.of(stream);
  if (!handle) throw NotLaunched(handle.error());
  return std::move(handle).value();
}

}  // namespace

HeadProducts::HeadProducts(const AttentionProblem& problem, CublasHandles& handles, void* stream)
    : problem_(problem), cublas_(handle_of(handles, stream)) {}

void HeadProducts::scores(void* scores, const TensorView& query, const TensorView& key,
                          double scale) const {
  for (const ProductBatch& batch : product_batches(problem_, query, key)) {
    const Product product{score_operand(scores, batch, problem_.N_kv),
                          transposed(key_operand(key, batch)),
                          query_operand(query, batch),
                          problem_.N_kv,
                          batch.rows,
                          problem_.d};
    multiply(*cublas_, problem_.dtype, product, batch.count, scale);
  }
}

void HeadProducts::of_scores(const TensorView& query, const void* scores, const TensorView& key,
                             double scale) const {
  for (const ProductBatch& batch : product_batches(problem_, query, key)) {
    const Product product{query_operand(query, batch),
                          key_operand(key, batch),
                          score_operand(scores, batch, problem_.N_kv),
                          problem_.d,
                          batch.rows,
                          problem_.N_kv};
    multiply(*cublas_, problem_.dtype, product, batch.count, scale);
  }
}

void HeadProducts::of_scores_transposed(const TensorView& key, const void* scores,
                                        const TensorView& query, double scale) const {
  AttentionProblem ungrouped = problem_;
  ungrouped.kv_heads = problem_.heads;
  for (const ProductBatch& batch : product_batches(ungrouped, query, key)) {
    const Product product{key_operand(key, batch),
                          query_operand(query, batch),
                          transposed(score_operand(scores, batch, problem_.N_kv)),
                          problem_.d,
                          problem_.N_kv,
                          batch.rows};
    multiply(*cublas_, problem_.dtype, product, batch.count, scale);
  }
}

}  // namespace attnscope::kernels
