#include "kernels/compile/nvrtc_library.h"

#include <dlfcn.h>
#include <fmt/core.h>

#include <filesystem>
#include <system_error>

namespace attnscope::kernels {

namespace {

/// The newest CUDA that the driver supports; nothing if there is no driver.
std::optional<CudaVersion> driver_version() {
  // Can be called before the driver is initialised
  int (*get_version)(int* version) = SharedLibrary({"libcuda.so.1"}).find("cuDriverGetVersion");
  int version = 0;
  if (get_version == nullptr || get_version(&version) != 0) return std::nullopt;
  return cuda_version(version);
}

std::string build_of(const NvrtcLibrary& nvrtc) {
  Dl_info info{};
  std::string file;
  if (dladdr(reinterpret_cast<const void*>(nvrtc.version), &info) != 0) {
    std::error_code error;
    file = std::filesystem::canonical(info.dli_fname, error).filename().string();
  }
  return fmt::format("{} {}", to_string(version_of(nvrtc)), file);
}

}  // namespace

Result<NvrtcLibrary> load_nvrtc(const std::vector<std::string>& names) {
  NvrtcLibrary nvrtc{SharedLibrary(names)};
  if (!nvrtc.library.is_loaded()) {
    return unavailable(
        "kernels are compiled by NVRTC 13 or 12, which could not be loaded ({}); "
        "install CUDA 12.8 or newer, or add the library's folder to LD_LIBRARY_PATH",
        nvrtc.library.reason());
  }
  if (!nvrtc.library.is_complete()) {
    return unavailable(
        "the NVRTC that was loaded lacks functions that AttnScope needs; install CUDA 12.8 or "
        "newer");
  }
  nvrtc.build = build_of(nvrtc);
  return nvrtc;
}

CudaVersion version_of(const NvrtcLibrary& nvrtc) {
  CudaVersion version;
  nvrtc.version(&version.major, &version.minor);
  return version;
}

std::vector<std::string> nvrtc_names(const std::optional<CudaVersion>& driver) {
  if (driver && driver->major == 12) return {"libnvrtc.so.12", "libnvrtc.so.13"};
  return {"libnvrtc.so.13", "libnvrtc.so.12"};
}

const Result<NvrtcLibrary>& nvrtc() {
  static const Result<NvrtcLibrary> library = load_nvrtc(nvrtc_names(driver_version()));
  return library;
}

/// The architectures that NVRTC compiles for; 90 is compute capability 9.0.
static std::vector<int> known_architectures(const NvrtcLibrary& nvrtc) {
  int count = 0;
  if (nvrtc.architecture_count(&count) != 0) count = 0;
  std::vector<int> known(static_cast<std::size_t>(count));
  if (!known.empty() && nvrtc.architectures(known.data()) != 0) known.clear();
  return known;
}

Result<std::string> target_architecture(std::string_view compute_capability) {
  const auto& library = nvrtc();
  if (!library) return library.error();
  return target_architecture(compute_capability, known_architectures(library.value()),
                             version_of(library.value()));
}

}  // namespace attnscope::kernels
