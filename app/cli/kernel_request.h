/// What run and measure share: the kernel of an algorithm and whether it takes the problem.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "app/cli/problem_options.h"
#include "kernels/client/kernel_library.h"

namespace attnscope::cli {

/// Names of the algorithms that have a kernel.
std::vector<std::string> kernel_algorithms();

/// --block-mask, of the commands that run kernels.
std::vector<OptionSpec> block_mask_option();

/// The problem of an algorithm that has a kernel, its block mask drawn over the tiles that the
/// kernel takes.
Result<ProblemRequest> parse_kernel_problem(const GivenOptions& given);

/// The kernel of the request's algorithm in the asked tiling, for each pass that is asked for
/// (both: forward, then backward), or invalid_request when it does not take the problem. With
/// `deterministic` a backward pass has to give dQ to the same bit on every run. Needs no GPU.
Result<std::vector<KernelChoice>> choose_kernels(const ProblemRequest& request,
                                                 bool deterministic = false);

/// {"problem", "algorithm", "kernel", "pass", "tiling", "carry", "inputs"}, as a recording has
/// them.
nlohmann::ordered_json run_identity(const RecordingRow& row);

}  // namespace attnscope::cli
