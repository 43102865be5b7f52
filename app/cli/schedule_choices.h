/// Options of the model that belong to single algorithms: the block mask of block_sparse and what
/// goes with it.
#pragma once

#include <vector>

#include "app/cli/command_line.h"
#include "sim/simulation.h"

namespace attnscope::cli {

/// --block-mask, --skip-unused-kv.
std::vector<OptionSpec> schedule_choice_options();

/// Nothing when the options can be understood and suit the algorithm; asks before any work.
std::optional<Error> check_schedule_choices(const GivenOptions& given, std::string_view algorithm);

/// The request with these options put in; a block mask settles its tiling.
Result<SimulationRequest> with_schedule_choices(const GivenOptions& given,
                                                SimulationRequest request);

}  // namespace attnscope::cli
