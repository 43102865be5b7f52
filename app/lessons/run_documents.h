/// The JSON documents of a run that lessons need, besides those that the command line prints.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>

#include "app/documents/simulated_run.h"
#include "kernels/recording/recording_row.h"

namespace attnscope::lessons {

/// The fields of the description, by the names of assets/gpus/NAME.json.
nlohmann::ordered_json gpu_json(const GpuDescription& gpu);

/// Every recording in assets/recordings that can be read; read once.
const std::vector<Recording>& shipped_recordings();

/// A measurement in a recording; both must outlive it.
struct FoundMeasurement {
  const Recording* recording = nullptr;
  const RecordingRow* row = nullptr;

  /// The recording with only this row.
  Recording alone() const;
};

/// The last measurement of exactly this run on this GPU; nothing if there is none.
std::optional<FoundMeasurement> find_measurement(const SimulationReport& report,
                                                 const GpuDescription& gpu,
                                                 std::span<const Recording> recordings);

/// The measurement beside its model, as `compare` writes it, with the "time" of its recording.
Result<nlohmann::ordered_json> measured_json(const FoundMeasurement& found,
                                             const GpuDescription& gpu);

/// The accuracy study at the run's size and type, as `accuracy` writes it.
Result<nlohmann::ordered_json> accuracy_of(const ModelRun& model);

/// The running softmax of every row of the first head. unavailable for a run with more queries or
/// tiles than kMostRows, or without an online softmax.
Result<nlohmann::ordered_json> online_softmax_json(const ModelRun& model);

/// The largest number of queries in a run whose rows can be followed.
inline constexpr Index kMostRows = 128;

}  // namespace attnscope::lessons
