#include "app/measurements.h"

#include <fmt/core.h>

#include <algorithm>

#include "reference/same_problem.h"
#include "sim/device/assets.h"

namespace attnscope::app {

std::string RunProvenance::describe() const {
  std::string text = fmt::format("{} on {}", to_string(kind), gpu);
  if (!date.empty()) text += ", " + date;
  if (!driver.empty()) text += ", driver " + driver;
  if (!commit.empty()) text += ", commit " + commit.substr(0, 8);
  return text + fmt::format(", {} L2", attnscope::to_string(cache));
}

std::optional<double> MeasuredRun::time_s() const {
  if (!row.measurement) return std::nullopt;
  return row.measurement->time.median_s;
}

std::optional<double> MeasuredRun::counter(std::string_view name) const {
  if (!row.measurement) return std::nullopt;
  return row.measurement->counter(name);
}

std::optional<double> MeasuredRun::requested_read_bytes() const {
  return counter(counter::kRequestedReadBytes);
}
std::optional<double> MeasuredRun::requested_write_bytes() const {
  return counter(counter::kRequestedWriteBytes);
}
std::optional<double> MeasuredRun::dram_read_bytes() const {
  return counter(counter::kDramReadBytes);
}
std::optional<double> MeasuredRun::dram_write_bytes() const {
  return counter(counter::kDramWriteBytes);
}

std::string MeasuredRun::why_unavailable(std::string_view counter_name) const {
  if (row.error) return row.error->message;
  if (!row.measurement) return "not measured";
  const auto& reasons = row.measurement->unavailable_counters;
  for (const std::string_view name : {counter_name, std::string_view("*")}) {
    const auto found = reasons.find(name);
    if (found != reasons.end()) return found->second;
  }
  return {};
}

std::vector<MeasuredRun> runs_of(const Recording& recording, NumberKind kind) {
  const RunProvenance provenance{kind,
                                 recording.device.name,
                                 recording.date,
                                 recording.device.driver,
                                 recording.build.commit,
                                 recording.protocol.cache};
  std::vector<MeasuredRun> runs;
  for (const RecordingRow& row : recording.rows) runs.push_back({row, provenance});
  return runs;
}

const MeasuredRun* Measurements::find(const AttentionProblem& problem, std::string_view algorithm,
                                      std::string_view pass, const Tiling& tiling,
                                      Carry carry) const {
  const auto rank = [&](const MeasuredRun& run) {
    return (run.row.measurement ? 2 : 0) + (run.row.tiling == tiling ? 1 : 0);
  };
  const auto search = [&](const std::vector<MeasuredRun>& runs) {
    const MeasuredRun* best = nullptr;
    for (const MeasuredRun& run : runs) {
      const RecordingRow& row = run.row;
      if (!same_problem(row.problem, problem) || row.algorithm != algorithm || row.pass != pass)
        continue;
      if (row.carry != carry || row.deterministic) continue;
      if (best == nullptr || rank(run) >= rank(*best)) best = &run;
    }
    return best;
  };
  const MeasuredRun* found = search(measured);
  return found != nullptr ? found : search(recorded);
}

std::vector<MeasuredRun> load_shipped_recordings(std::vector<std::string>& problems) {
  std::vector<MeasuredRun> runs;
  for (const std::string& name : list_assets("recordings")) {
    const Result<std::filesystem::path> path = find_asset("recordings", name);
    if (!path) continue;
    const Result<Recording> recording = read_recording(path.value());
    if (!recording) {
      problems.push_back(recording.error().message);
      continue;
    }
    const std::vector<MeasuredRun> read = runs_of(recording.value(), NumberKind::recorded);
    runs.insert(runs.end(), read.begin(), read.end());
  }
  return runs;
}

}  // namespace attnscope::app
