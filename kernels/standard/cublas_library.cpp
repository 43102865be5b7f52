#include "kernels/standard/cublas_library.h"

#include <dlfcn.h>
#include <fmt/core.h>

#include <string>

namespace attnscope::kernels {

namespace {

constexpr const char* kLibraryNames[] = {"libcublas.so.13", "libcublas.so.12"};

template <typename Function>
bool find_symbol(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

Result<const CublasLibrary*> load() {
  // Open the newest version that is there
  void* library = nullptr;
  std::string reason;
  for (const char* name : kLibraryNames) {
    library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) break;
    if (reason.empty()) reason = dlerror();
  }
  if (library == nullptr) {
    return unavailable(
        fmt::format("kernel standard needs cuBLAS 13 or 12, which could not be "
                    "loaded ({}); install it or add its folder to LD_LIBRARY_PATH",
                    reason));
  }

  static CublasLibrary cublas;
  decltype(&cublasCreate_v2) create = nullptr;
  if (!find_symbol(library, "cublasCreate_v2", create) ||
      !find_symbol(library, "cublasSetStream_v2", cublas.set_stream) ||
      !find_symbol(library, "cublasGemmStridedBatchedEx", cublas.gemm_strided_batched) ||
      !find_symbol(library, "cublasGetStatusString", cublas.status_string)) {
    return unavailable("the installed cuBLAS lacks an entry point; versions 12 and 13 have it");
  }
  const cublasStatus_t status = create(&cublas.handle);
  if (status != CUBLAS_STATUS_SUCCESS) {
    return unavailable(fmt::format("cuBLAS does not start: {}", cublas.status_string(status)));
  }
  return &cublas;
}

}  // namespace

Result<const CublasLibrary*> cublas_library() {
  static const Result<const CublasLibrary*> loaded = load();
  return loaded;
}

}  // namespace attnscope::kernels
