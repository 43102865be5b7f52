#include "kernels/compile/target_architecture.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "reference/message_text.h"

namespace attnscope::kernels {

namespace {

constexpr std::string_view kPtxPrefix = "compute_";

/// Converts "9.0" to 90; nothing for other text.
std::optional<int> number_of(std::string_view compute_capability) {
  int major = 0, minor = 0;
  const char* const end = compute_capability.data() + compute_capability.size();
  const auto point = std::from_chars(compute_capability.data(), end, major);
  if (point.ec != std::errc() || point.ptr == end || *point.ptr != '.') return std::nullopt;
  const auto rest = std::from_chars(point.ptr + 1, end, minor);
  if (rest.ec != std::errc() || rest.ptr != end || minor > 9) return std::nullopt;
  return 10 * major + minor;
}

}  // namespace

std::string to_string(const CudaVersion& version) {
  return fmt::format("{}.{}", version.major, version.minor);
}

Result<std::string> target_architecture(std::string_view compute_capability,
                                        std::span<const int> known, const CudaVersion& nvrtc) {
  constexpr int kFirstWithOwnInstructions = 90;
  const auto gpu = number_of(compute_capability);
  if (!gpu) {
    return invalid_request("'{}' is not a compute capability; use one such as 9.0",
                           one_line(std::string(compute_capability)));
  }
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
      to_string(nvrtc), compute_capability);
}

bool is_ptx(std::string_view architecture) {
  return architecture.starts_with(kPtxPrefix);
}

std::optional<Error> check_driver(const CudaVersion& nvrtc, const CudaVersion& driver,
                                  std::string_view architecture) {
  const bool runs = is_ptx(architecture) ? nvrtc <= driver : nvrtc.major <= driver.major;
  if (runs) return std::nullopt;
  const std::string needed =
      is_ptx(architecture) ? to_string(driver) + " or older" : fmt::format("{}.x", driver.major);
  return unavailable(
      "NVRTC {} generates {} that this NVIDIA driver (CUDA {}) cannot run; update the driver, or "
      "install NVRTC {} (libnvrtc.so.{})",
      to_string(nvrtc), is_ptx(architecture) ? "PTX" : "machine code", to_string(driver), needed,
      driver.major);
}

}  // namespace attnscope::kernels
