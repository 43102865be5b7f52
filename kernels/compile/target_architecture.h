/// The architecture that NVRTC compiles for, and whether the GPU's driver can run the result.
#pragma once

#include <compare>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "reference/result.h"

namespace attnscope::kernels {

/// A CUDA version: that of a toolkit's library, or the newest that a driver supports.
struct CudaVersion {
  int major = 0, minor = 0;
  auto operator<=>(const CudaVersion&) const = default;
};

/// The version that CUDA's libraries encode in this number: 13.0 for 13000.
constexpr CudaVersion cuda_version(int number) {
  return {number / 1000, number % 1000 / 10};
}

/// "13.0".
std::string to_string(const CudaVersion& version);

/// The architecture to compile for: `compute_capability` is the GPU's, "9.0", and `known` lists
/// what the compiler supports, 90 for 9.0. If it supports the GPU, machine code, "sm_90a",
/// including the instructions that only this architecture has, if any. Otherwise PTX, "compute_80",
/// for the newest known architecture that is older than the GPU; the driver compiles it.
/// unavailable if there is none.
Result<std::string> target_architecture(std::string_view compute_capability,
                                        std::span<const int> known, const CudaVersion& nvrtc);

/// Whether the architecture names PTX ("compute_80") rather than machine code.
bool is_ptx(std::string_view architecture);

/// unavailable if the driver cannot run the output of this NVRTC. A driver for CUDA 13.0 runs
/// machine code from 13.x and earlier, but PTX only from 13.0 and earlier.
std::optional<Error> check_driver(const CudaVersion& nvrtc, const CudaVersion& driver,
                                  std::string_view architecture);

}  // namespace attnscope::kernels
