#include "kernels/standard/cublas_library.h"

#include <algorithm>

namespace attnscope::kernels {

namespace {

/// A handle of the current device, which is bound to the stream.
Result<std::shared_ptr<CublasHandle>> make_handle(const CublasLibrary& cublas, void* stream) {
  cublasHandle_t made = nullptr;
  cublasStatus_t status = cublas.create(&made);
  if (status != CUBLAS_STATUS_SUCCESS) {
    return unavailable("cuBLAS does not start: {}", cublas.status_string(status));
  }
  auto handle = std::make_shared<CublasHandle>(cublas, made);
  status = cublas.set_stream(made, static_cast<cudaStream_t>(stream));
  if (status != CUBLAS_STATUS_SUCCESS) {
    return failed("cublasSetStream failed: {}", cublas.status_string(status));
  }
  return handle;
}

constexpr std::size_t kMostHandles = 16;

}  // namespace

Result<CublasLibrary> load_cublas(const std::vector<std::string>& names) {
  CublasLibrary cublas{SharedLibrary(names)};
  if (!cublas.library.is_loaded()) {
    return unavailable(
        "kernel standard needs cuBLAS 13 or 12, which could not be "
        "loaded ({}); install it or add its folder to LD_LIBRARY_PATH",
        cublas.library.reason());
  }
  if (!cublas.library.is_complete()) {
    return unavailable("the installed cuBLAS lacks an entry point; versions 12 and 13 have it");
  }
  return cublas;
}

Result<std::shared_ptr<CublasHandle>> CublasHandles::of(void* stream) {
  const std::scoped_lock lock(mutex_);
  if (!library_) library_ = load_cublas({"libcublas.so.13", "libcublas.so.12"});
  if (!*library_) return library_->error();
  const auto found = std::ranges::find(kept_, stream, &Kept::stream);
  if (found != kept_.end()) {
    kept_.splice(kept_.begin(), kept_, found);
    return kept_.front().handle;
  }

  auto made = make_handle(library_->value(), stream);
  if (!made) return made.error();
  kept_.push_front({stream, made.value()});
  if (kept_.size() > kMostHandles) kept_.pop_back();
  return made;
}

}  // namespace attnscope::kernels
