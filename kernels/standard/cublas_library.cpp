#include "kernels/standard/cublas_library.h"

#include "kernels/host/cuda_check.h"

namespace attnscope::kernels {

Result<CublasLibrary> load_cublas(const std::vector<std::string>& names) {
  CublasLibrary cublas{SharedLibrary(names)};
  if (!cublas.library.problem().empty()) {
    return unavailable(
        "kernel standard needs cuBLAS 13 or 12, which cannot be "
        "used ({}); install it or add its folder to LD_LIBRARY_PATH",
        cublas.library.problem());
  }
  return cublas;
}

static cudaDataType_t cuda_type(DType dtype) {
  if (dtype == DType::fp32) return CUDA_R_32F;
  return dtype == DType::fp16 ? CUDA_R_16F : CUDA_R_16BF;
}

void Cublas::multiply(const HeadProduct& product, DType dtype, double scale, void* stream) {
  // cuBLAS is column-major: it sees each row-major matrix as its transpose, and the transposed
  // product is that of the transposed factors in reverse order
  const auto& [result, left, right] = product;
  const Index inner = left.transposed ? left.rows : left.columns;
  const auto operation = [](const HeadMatrices& each) {
    return each.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  };
  const cudaDataType_t type = cuda_type(dtype);
  const auto alpha = static_cast<float>(scale);
  const float beta = 0.0f;
  const std::scoped_lock lock(mutex_);
  const cublasHandle_t handle = handle_of(stream);
  const cublasStatus_t status = library_->value().gemm_strided_batched(
      handle, operation(right), operation(left), result.columns, result.rows, inner, &alpha,
      right.view.data_dev, type, right.view.stride_row, right.view.stride_head, left.view.data_dev,
      type, left.view.stride_row, left.view.stride_head, &beta, result.view.data_dev, type,
      result.view.stride_row, result.view.stride_head, result.heads, CUBLAS_COMPUTE_32F,
      CUBLAS_GEMM_DEFAULT);
  check("a matrix product", status);
}

cublasHandle_t Cublas::handle_of(void* stream) {
  if (!library_) library_ = load_cublas({"libcublas.so.13", "libcublas.so.12"});
  if (!*library_) throw GpuError(library_->error());
  const auto found = handles_.find(stream);
  if (found != handles_.end()) return found->second.get();
  const CublasLibrary& cublas = library_->value();
  cublasHandle_t created = nullptr;
  check("cublasCreate()", cublas.create(&created));
  Handle handle(created, cublas.destroy);
  check("cublasSetStream()", cublas.set_stream(created, static_cast<cudaStream_t>(stream)));
  constexpr std::size_t kMostHandles = 16;
  if (handles_.size() == kMostHandles) handles_.clear();
  return handles_.emplace(stream, std::move(handle)).first->second.get();
}

void Cublas::check(const char* call, cublasStatus_t status) const {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw GpuError(failed("cuBLAS: {} failed: {}", call, library_->value().status_string(status)));
}

}  // namespace attnscope::kernels
