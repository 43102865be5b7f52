/// The JSON documents of a run that lessons need, besides those that the command line prints.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "app/documents/simulated_run.h"

namespace attnscope::lessons {

/// The fields of the description, by the names of assets/gpus/NAME.json.
nlohmann::ordered_json gpu_json(const GpuDescription& gpu);

/// The comparison with the last shipped recording of exactly this run, as `compare` writes it;
/// unavailable when there is none, or when it has no measurement.
Result<nlohmann::ordered_json> recorded_json(const SimulationReport& report,
                                             const GpuDescription& gpu);

/// The accuracy study at the run's size and type, as `accuracy` writes it.
Result<nlohmann::ordered_json> accuracy_of(const ModelRun& model);

/// The running softmax of every row of the first head. unavailable for a run with more queries or
/// tiles than kMostRows, or without an online softmax.
Result<nlohmann::ordered_json> online_softmax_json(const ModelRun& model);

/// The largest number of queries of a run whose rows are followed.
inline constexpr Index kMostRows = 128;

}  // namespace attnscope::lessons
