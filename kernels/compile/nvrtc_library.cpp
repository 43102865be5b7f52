#include "kernels/compile/nvrtc_library.h"

#include <dlfcn.h>
#include <fmt/core.h>

#include <filesystem>
#include <string>
#include <system_error>

namespace attnscope::kernels {

namespace {

struct NamedLibrary {
  int major;
  const char* name;
};
constexpr NamedLibrary kLibraries[] = {{13, "libnvrtc.so.13"}, {12, "libnvrtc.so.12"}};

template <typename Function>
bool find_symbol(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

/// The newest CUDA that the driver supports; nothing if there is no driver.
std::optional<CudaVersion> driver_version() {
  void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  int (*get_version)(int* version) = nullptr;  // can be called before the driver is initialised
  int version = 0;
  if (driver == nullptr || !find_symbol(driver, "cuDriverGetVersion", get_version) ||
      get_version(&version) != 0) {
    return std::nullopt;
  }
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

Result<NvrtcLibrary> load_nvrtc(std::span<const char* const> names) {
  void* library = nullptr;
  std::string reason;
  for (const char* name : names) {
    library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) break;
    if (reason.empty()) reason = dlerror();
  }
  if (library == nullptr) {
    return unavailable(
        "kernels are compiled by NVRTC 13 or 12, which could not be loaded ({}); "
        "install CUDA 12.8 or newer, or add the library's folder to LD_LIBRARY_PATH",
        reason);
  }
  NvrtcLibrary nvrtc;
  const bool complete =
      find_symbol(library, "nvrtcVersion", nvrtc.version) &&
      find_symbol(library, "nvrtcGetNumSupportedArchs", nvrtc.architecture_count) &&
      find_symbol(library, "nvrtcGetSupportedArchs", nvrtc.architectures) &&
      find_symbol(library, "nvrtcCreateProgram", nvrtc.create) &&
      find_symbol(library, "nvrtcDestroyProgram", nvrtc.destroy) &&
      find_symbol(library, "nvrtcAddNameExpression", nvrtc.add_name_expression) &&
      find_symbol(library, "nvrtcCompileProgram", nvrtc.compile) &&
      find_symbol(library, "nvrtcGetProgramLogSize", nvrtc.log_size) &&
      find_symbol(library, "nvrtcGetProgramLog", nvrtc.log) &&
      find_symbol(library, "nvrtcGetCUBINSize", nvrtc.cubin_size) &&
      find_symbol(library, "nvrtcGetCUBIN", nvrtc.cubin) &&
      find_symbol(library, "nvrtcGetPTXSize", nvrtc.ptx_size) &&
      find_symbol(library, "nvrtcGetPTX", nvrtc.ptx) &&
      find_symbol(library, "nvrtcGetLoweredName", nvrtc.lowered_name) &&
      find_symbol(library, "nvrtcGetErrorString", nvrtc.error_string);
  if (!complete) {
    return unavailable(
        "the NVRTC that was loaded lacks functions that AttnScope needs; install CUDA 12.8 or "
        "newer");
  }
  find_symbol(library, "nvrtcSetFlowCallback", nvrtc.set_flow_callback);
  nvrtc.build = build_of(nvrtc);
  return nvrtc;
}

CudaVersion version_of(const NvrtcLibrary& nvrtc) {
  CudaVersion version;
  nvrtc.version(&version.major, &version.minor);
  return version;
}

std::vector<const char*> nvrtc_names(const std::optional<CudaVersion>& driver) {
  std::vector<const char*> names;
  for (const bool supported : {true, false}) {
    for (const NamedLibrary& library : kLibraries) {
      const bool runs = !driver || library.major <= driver->major;
      if (runs == supported) names.push_back(library.name);
    }
  }
  return names;
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
