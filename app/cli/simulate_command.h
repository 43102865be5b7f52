/// attnscope-cli simulate: the model of one problem.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "app/cli/command_line.h"
#include "reference/result.h"
#include "sim/simulation.h"

namespace attnscope::cli {

CommandSpec simulate_command();

/// The options that say what the model runs, and on what: all of simulate's but inputs and outputs.
std::vector<OptionSpec> modelled_options();
/// Those options as a request; invalid_request for what cannot be understood or does not go
/// together.
Result<SimulationRequest> modelled_request(const GivenOptions& given);

/// Nothing when the options can be understood; what does not fit together comes later, as
/// simulate_document()'s error.
std::optional<Error> check_simulate_options(const GivenOptions& given);

/// The document of schema attnscope.simulation/1; with --out the numbers are written as well.
Result<nlohmann::ordered_json> simulate_document(const GivenOptions& given);

}  // namespace attnscope::cli
