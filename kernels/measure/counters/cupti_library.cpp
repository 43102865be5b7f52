#include "kernels/measure/counters/cupti_library.h"

#include <dlfcn.h>
#include <fmt/core.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

namespace attnscope::kernels {

namespace {

constexpr const char* kFolderVariable = "ATTNSCOPE_CUPTI_DIR";

/// Paths to try, in this order. A bare name is left to the dynamic loader.
std::vector<std::string> candidate_paths() {
  const std::string versioned = fmt::format("libcupti.so.{}", CUDA_VERSION / 1000);
  std::vector<std::string> paths;
  const auto add_folder = [&](const std::filesystem::path& folder) {
    paths.push_back((folder / versioned).string());
    paths.push_back((folder / "libcupti.so").string());
  };
  if (const char* folder = std::getenv(kFolderVariable)) {
    add_folder(folder);
    return paths;  // if the user sets it, this is the only candidate
  }
  paths.push_back(versioned);
  paths.emplace_back("libcupti.so");
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    const char* root = std::getenv(variable);
    if (root == nullptr || *root == '\0') continue;
    add_folder(std::filesystem::path(root) / "lib64");
    add_folder(std::filesystem::path(root) / "extras/CUPTI/lib64");
  }
  add_folder("/usr/local/cuda/lib64");
  add_folder("/usr/local/cuda/extras/CUPTI/lib64");
  return paths;
}

/// CUPTI opens the libnvperf libraries by their bare names: load those beside it first.
void preload_companions(void* function_of_cupti) {
  Dl_info info{};
  if (dladdr(function_of_cupti, &info) == 0 || info.dli_fname == nullptr) return;
  const auto folder = std::filesystem::path(info.dli_fname).parent_path();
  for (const char* name : {"libnvperf_host.so", "libnvperf_target.so"}) {
    dlopen((folder / name).c_str(), RTLD_NOW | RTLD_GLOBAL);  // a failure shows in the results of
                                                              // CUPTI
  }
}

Result<CuptiLibrary> open_cupti() {
  CuptiLibrary cupti{SharedLibrary(candidate_paths())};
  if (!cupti.library.problem().empty()) {
    return unavailable(
        "no hardware counters: CUPTI cannot be used ({}); install CUDA 12.6 update 2 or "
        "newer, or set {} to the folder that holds it",
        cupti.library.problem(), kFolderVariable);
  }
  preload_companions(reinterpret_cast<void*>(cupti.RangeProfilerEnable));
  return cupti;
}

}  // namespace

Result<const CuptiLibrary*> load_cupti() {
  static const Result<CuptiLibrary> library = open_cupti();
  if (!library) return library.error();
  return &library.value();
}

Error cupti_error(const CuptiLibrary& cupti, CUptiResult code, const char* function) {
  switch (code) {
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
      return unavailable(
          "no permission to read hardware counters (ERR_NVGPUCTRPERM); run as root, give the "
          "container --cap-add=SYS_ADMIN, or load the driver's module with "
          "NVreg_RestrictProfilingToAdminUsers=0");
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED:
      return unavailable("hardware counters are not supported on this virtual GPU");
    case CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED:
      return unavailable("hardware counters are off while confidential computing is on");
    case CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_INVALID_CHIP_NAME:
      return unavailable("hardware counters are not supported on this GPU in this configuration");
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
      return unavailable("another profiler or debugger is using CUPTI; stop it first");
    default:
      break;
  }
  const char* name = nullptr;
  cupti.GetResultString(code, &name);
  return failed("hardware counters: {} returned {} ({})", function,
                name == nullptr ? "an unknown error" : name, static_cast<int>(code));
}

}  // namespace attnscope::kernels
