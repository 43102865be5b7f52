/// What each kernel supports. Plain C++.
#pragma once

#include <optional>
#include <string_view>

#include "kernels/program_target.h"
#include "reference/result.h"
#include "reference/run_spec.h"

namespace attnscope::kernels {

/// Nothing if the kernel supports the run, else invalid_request with one line: the rejected choice,
/// the reason, and what the kernel accepts. `target`: the GPU whose tiling is
/// checked.
std::optional<Error> supports(const ResolvedRun& run, const ProgramTarget& target = {});

/// Asynchronous copies and bf16 products require compute capability 8.0.
inline constexpr int kLeastComputeMajor = 8;
/// Nothing if the kernels can run on a GPU of this compute capability, "9.0", else unavailable.
std::optional<Error> check_compute_capability(std::string_view gpu_name,
                                              std::string_view capability);

}  // namespace attnscope::kernels
