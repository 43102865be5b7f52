/// What NVRTC compiles for a GPU, and whether the GPU's driver runs that.
#pragma once

#include <compare>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "reference/result.h"

namespace attnscope::kernels {

/// A version of CUDA: that of a toolkit's library, or the newest that a driver supports.
struct CudaVersion {
  int major = 0, minor = 0;
  auto operator<=>(const CudaVersion&) const = default;
};

/// The version that CUDA's libraries report as this number: 13.0 for 13000.
constexpr CudaVersion cuda_version(int number) {
  return {number / 1000, number % 1000 / 10};
}

/// "13.0".
std::string to_string(const CudaVersion& version);

/// The architecture to compile for: `compute_capability` is the GPU's, "9.0", and `known` lists
/// what the compiler supports, 90 for 9.0. If it supports the GPU, machine code, "sm_90a", with
/// the instructions that only this architecture has, if any. Else PTX, "compute_80", for the
/// newest known architecture that is older than the GPU; the driver compiles it. unavailable when
/// there is none.
Result<std::string> target_architecture(std::string_view compute_capability,
                                        std::span<const int> known, const CudaVersion& nvrtc);

/// Whether the architecture is PTX, "compute_80", not machine code.
bool is_ptx(std::string_view architecture);

/// unavailable when the driver does not run what this NVRTC compiles. A driver for CUDA 13.0 runs
/// machine code of 13.x and earlier, but PTX only of 13.0 and earlier.
std::optional<Error> check_driver(const CudaVersion& nvrtc, const CudaVersion& driver,
                                  std::string_view architecture);

}  // namespace attnscope::kernels
