/// Options of the model that belong to single algorithms: the block mask of block_sparse and what
/// goes with it, the splits of split_kv, the warps of the flash algorithms, the variants of
/// standard and flash1.
#pragma once

#include <vector>

#include "app/cli/command_line.h"
#include "sim/warp_report.h"

namespace attnscope::cli {

/// --block-mask, --skip-unused-kv, --splits, --separate-heads, --warps, --warp-partition, --fusion,
/// --checkpoint, --skip-first-reads, --d-once.
std::vector<OptionSpec> schedule_choice_options();

/// Nothing when the options can be understood and suit the algorithm; asks before any work.
std::optional<Error> check_schedule_choices(const GivenOptions& given, std::string_view algorithm);

/// --warps and --warp-partition, as values.
Result<WarpChoice> parse_warp_choice(const GivenOptions& given);

/// The query heads of a group become the rows of one tile: split_kv, where that can be done and
/// --separate-heads does not ask otherwise.
bool packs_groups(const GivenOptions& given, const SimulationRequest& request);

/// The request with these options put in; a block mask settles its tiling.
Result<SimulationRequest> with_schedule_choices(const GivenOptions& given,
                                                SimulationRequest request);

}  // namespace attnscope::cli
