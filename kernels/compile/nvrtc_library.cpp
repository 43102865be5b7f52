#include "kernels/compile/nvrtc_library.h"

#include <dlfcn.h>
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "reference/message_text.h"
#include "reference/parse_number.h"

namespace attnscope::kernels {

namespace {

/// "13.0".
std::string to_string(const CudaVersion& version) {
  return fmt::format("{}.{}", version.major, version.minor);
}

/// The newest CUDA that the driver supports; nothing if there is no driver.
std::optional<CudaVersion> driver_version() {
  // Can be called before the driver is initialised
  int (*get_version)(int* version) = SharedLibrary({"libcuda.so.1"}).find("cuDriverGetVersion");
  int version = 0;
  if (get_version == nullptr || get_version(&version) != 0) return std::nullopt;
  return CudaVersion{version / 1000, version % 1000 / 10};
}

std::string build_of(const NvrtcLibrary& nvrtc) {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(nvrtc.get_version), &info) == 0) info.dli_fname = "";
  std::error_code error;
  const auto file = std::filesystem::canonical(info.dli_fname, error);
  return fmt::format("{} {} {}", to_string(nvrtc.version), file.filename().string(),
                     std::filesystem::file_size(file, error));
}

constexpr std::string_view kPtxPrefix = "compute_";

/// Converts "9.0" to 90; nothing for other text.
std::optional<int> number_of(std::string_view compute_capability) {
  const std::size_t point = compute_capability.find('.');
  if (point == compute_capability.npos) return std::nullopt;
  const auto major = parse_number<int>(compute_capability.substr(0, point));
  const auto minor = parse_number<int>(compute_capability.substr(point + 1));
  return major && minor && *minor <= 9 ? std::optional(10 * *major + *minor) : std::nullopt;
}

}  // namespace

Result<NvrtcLibrary> load_nvrtc(const std::vector<std::string>& names) {
  NvrtcLibrary nvrtc{SharedLibrary(names)};
  if (!nvrtc.library.problem().empty()) {
    return unavailable(
        "kernels are compiled by NVRTC 13 or 12, which cannot be used ({}); "
        "install CUDA 12.8 or newer, or add the library's folder to LD_LIBRARY_PATH",
        nvrtc.library.problem());
  }
  nvrtc.get_version(&nvrtc.version.major, &nvrtc.version.minor);
  int count = 0;
  if (nvrtc.count_architectures(&count) != 0) count = 0;
  nvrtc.architectures.resize(static_cast<std::size_t>(count));
  if (nvrtc.get_architectures(nvrtc.architectures.data()) != 0) nvrtc.architectures.clear();
  nvrtc.build = build_of(nvrtc);
  return nvrtc;
}

std::vector<std::string> nvrtc_names(const std::optional<CudaVersion>& driver) {
  if (driver && driver->major == 12) return {"libnvrtc.so.12", "libnvrtc.so.13"};
  return {"libnvrtc.so.13", "libnvrtc.so.12"};
}

const Result<NvrtcLibrary>& nvrtc() {
  static const Result<NvrtcLibrary> library = load_nvrtc(nvrtc_names(driver_version()));
  return library;
}

Result<std::string> target_architecture(std::string_view compute_capability,
                                        const NvrtcLibrary& nvrtc) {
  constexpr int kFirstWithOwnInstructions = 90;
  const auto gpu = number_of(compute_capability);
  if (!gpu) {
    return invalid_request("'{}' is not a compute capability; use one such as 9.0",
                           one_line(compute_capability));
  }
  const std::vector<int>& known = nvrtc.architectures;
  if (std::ranges::find(known, *gpu) != known.end()) {
    return fmt::format("sm_{}{}", *gpu, *gpu >= kFirstWithOwnInstructions ? "a" : "");
  }
  int newest = 0;
  for (const int each : known) {
    if (each < *gpu) newest = std::max(newest, each);
  }
  if (newest > 0) return fmt::format("{}{}", kPtxPrefix, newest);
  return unavailable(
      "NVRTC {} does not support compute capability {}; install a CUDA toolkit that supports this "
      "GPU",
      to_string(nvrtc.version), compute_capability);
}

bool is_ptx(std::string_view architecture) {
  return architecture.starts_with(kPtxPrefix);
}

std::optional<Error> check_driver(const CudaVersion& nvrtc, const CudaVersion& driver,
                                  std::string_view architecture) {
  const bool ptx = is_ptx(architecture);
  if (ptx ? nvrtc <= driver : nvrtc.major <= driver.major) return std::nullopt;
  const std::string needed =
      ptx ? to_string(driver) + " or older" : fmt::format("{}.x", driver.major);
  return unavailable(
      "NVRTC {} generates {} that this NVIDIA driver (CUDA {}) cannot run; update the driver, or "
      "install NVRTC {} (libnvrtc.so.{})",
      to_string(nvrtc), ptx ? "PTX" : "machine code", to_string(driver), needed, driver.major);
}

Result<std::string> architecture_here(std::string_view compute_capability) {
  ATTNSCOPE_TRY(const auto library, nvrtc());
  ATTNSCOPE_TRY(auto architecture, target_architecture(compute_capability, library));
  const auto driver = driver_version();
  if (!driver) return unavailable("the NVIDIA driver does not report its version");
  if (auto error = check_driver(library.version, *driver, architecture)) return *error;
  return architecture;
}

}  // namespace attnscope::kernels
