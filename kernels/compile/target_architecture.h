/// What NVRTC compiles for a GPU, and whether the GPU's driver runs that.
#pragma once

#include <compare>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "reference/result.h"

namespace attnscope::kernels {

/// A version of CUDA: of a toolkit's library, or the newest that a driver supports.
struct CudaVersion {
  int major = 0, minor = 0;
  auto operator<=>(const CudaVersion&) const = default;
};

/// "13.0".
std::string to_string(const CudaVersion& version);

/// The architecture to compile for, on a GPU of this compute capability, "9.0", out of those that
/// the compiler knows, 90 for 9.0. "sm_90a": machine code, with the instructions that only this GPU
/// has, where it has some. If the compiler does not know the GPU, "compute_80": PTX of the newest
/// architecture that it knows and the GPU is not older than, which the driver compiles.
/// unavailable when there is none.
Result<std::string> target_architecture(std::string_view compute_capability,
                                        std::span<const int> known, const CudaVersion& nvrtc);

/// The same out of those that this machine's NVRTC knows.
Result<std::string> target_architecture(std::string_view compute_capability);

/// Whether the architecture is one of PTX.
bool is_ptx(std::string_view architecture);

/// unavailable when the driver does not run what this NVRTC compiles. It runs machine code of its
/// own major version and earlier ones, and PTX only of its own version and earlier ones.
std::optional<Error> check_driver(const CudaVersion& nvrtc, const CudaVersion& driver,
                                  std::string_view architecture);

}  // namespace attnscope::kernels
