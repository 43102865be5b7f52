/// Which tiles the model runs in: --block-rows, --block-cols and --tiling together.
#pragma once

#include <optional>

#include "app/cli/problem_options.h"
#include "reference/result.h"

namespace attnscope::cli {

/// --tiling.
OptionSpec tiling_option();

/// Nothing for the default tiling; else --tiling's, with a side that was given in its place.
/// invalid_request for an unknown rule, or a kernel that takes no such problem.
Result<std::optional<Tiling>> chosen_tiling(const GivenOptions& given,
                                            const ProblemRequest& request,
                                            const GpuDescription& gpu);

}  // namespace attnscope::cli
