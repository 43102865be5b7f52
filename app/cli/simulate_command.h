/// What attnscope-cli simulate shares with trace and sweep: a run of the model, by options.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "app/cli/command_line.h"
#include "reference/run_spec.h"
#include "sim/device/gpu_description.h"

namespace attnscope::cli {

struct ModelRun {
  ResolvedRun run;
  GpuDescription gpu;
};
/// The run that the options of the model's fields ask for; invalid_request for what cannot be
/// understood or does not go together.
Result<ModelRun> parse_model_run(const GivenOptions& given);

/// Nothing when simulate's options can be understood; what does not fit together comes later, as
/// simulate_document()'s error.
std::optional<Error> check_simulate_options(const GivenOptions& given);

/// The document of schema attnscope.simulation/1; with --out the numbers are written as well.
Result<nlohmann::ordered_json> simulate_document(const GivenOptions& given);

}  // namespace attnscope::cli
