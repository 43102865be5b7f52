#include "kernels/standard/cublas_library.h"

#include "kernels/host/cuda_check.h"

namespace attnscope::kernels {

Result<CublasLibrary> load_cublas(const std::vector<std::string>& names) {
  CublasLibrary cublas{SharedLibrary(names)};
  if (!cublas.library.problem().empty()) {
    return unavailable(
        "kernel standard needs cuBLAS 13 or 12, which could not be "
        "loaded ({}); install it or add its folder to LD_LIBRARY_PATH",
        cublas.library.problem());
  }
  return cublas;
}

CublasHandle::CublasHandle(const CublasLibrary& cublas, void* stream)
    : cublas_(cublas), handle_(nullptr, cublas.destroy) {
  cublasHandle_t handle = nullptr;
  cublasStatus_t status = cublas_.create(&handle);
  if (status != CUBLAS_STATUS_SUCCESS) {
    throw GpuError(unavailable("cuBLAS does not start: {}", cublas_.status_string(status)));
  }
  handle_.reset(handle);
  status = cublas_.set_stream(handle, static_cast<cudaStream_t>(stream));
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw GpuError(failed("cublasSetStream failed: {}", cublas_.status_string(status)));
}

static cudaDataType_t cuda_type(DType dtype) {
  if (dtype == DType::fp32) return CUDA_R_32F;
  return dtype == DType::fp16 ? CUDA_R_16F : CUDA_R_16BF;
}

void CublasHandle::multiply(const HeadProduct& product, DType dtype, double scale) {
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
  const cublasStatus_t status = cublas_.gemm_strided_batched(
      handle_.get(), operation(right), operation(left), result.columns, result.rows, inner, &alpha,
      right.view.data_dev, type, right.view.stride_row, right.view.stride_head, left.view.data_dev,
      type, left.view.stride_row, left.view.stride_head, &beta, result.view.data_dev, type,
      result.view.stride_row, result.view.stride_head, result.heads, CUBLAS_COMPUTE_32F,
      CUBLAS_GEMM_DEFAULT);
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw GpuError(failed("cuBLAS failed in a matrix product: {}", cublas_.status_string(status)));
}

std::shared_ptr<CublasHandle> CublasHandles::of(void* stream) {
  const std::scoped_lock lock(mutex_);
  if (!library_) library_ = load_cublas({"libcublas.so.13", "libcublas.so.12"});
  if (!*library_) throw GpuError(library_->error());
  constexpr std::size_t kMostHandles = 16;
  if (handles_.size() == kMostHandles && !handles_.contains(stream)) handles_.clear();
  auto& handle = handles_[stream];
  if (!handle) handle = std::make_shared<CublasHandle>(library_->value(), stream);
  return handle;
}

}  // namespace attnscope::kernels
