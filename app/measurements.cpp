#include "app/measurements.h"

#include <fmt/core.h>

#include <algorithm>

#include "kernels/trace/kernel_trace.h"
#include "reference/key_splits.h"
#include "reference/same_problem.h"
#include "sim/device/assets.h"
#include "sim/snapshot/snapshot.h"

namespace attnscope::app {

namespace {

struct Wanted {
  const AttentionProblem& problem;
  std::string_view algorithm;
  std::string_view pass;
  const Tiling& tiling;
  Carry carry = Carry::problem;
};

/// The newest run of what is wanted: rather of the same tiling, and rather with a measurement.
const MeasuredRun* best_of(const std::vector<MeasuredRun>& runs, const Wanted& wanted) {
  const auto rank = [&](const MeasuredRun& run) {
    return (run.row.measurement ? 2 : 0) + (run.row.tiling == wanted.tiling ? 1 : 0);
  };
  const MeasuredRun* best = nullptr;
  for (const MeasuredRun& run : runs) {
    const RecordingRow& row = run.row;
    if (!same_problem(row.problem, wanted.problem) || row.algorithm != wanted.algorithm) continue;
    if (row.pass != wanted.pass || row.carry != wanted.carry || row.deterministic) continue;
    if (best == nullptr || rank(run) >= rank(*best)) best = &run;
  }
  return best;
}

/// What a trace says beside its thread blocks.
MeasuredRun run_of(const KernelTrace& trace) {
  const Recording& header = trace.header;
  MeasuredRun run;
  run.row.problem = trace.problem;
  run.row.algorithm = trace.algorithm;
  run.row.kernel = trace.kernel;
  run.row.pass = to_string(trace.pass);
  run.row.tiling = trace.tiling;
  run.row.inputs = to_string(trace.inputs.kind);
  run.row.seed = trace.inputs.seed;
  run.row.measurement.emplace();
  run.row.measurement->time.median_s = trace.plain_time_s;
  run.row.measurement->unavailable_counters["*"] =
      "of this problem a trace was recorded, with times alone; no counters";
  run.provenance = {NumberKind::recorded, header.device.name,  header.date,
                    header.device.driver, header.build.commit, CacheState::warm};
  return run;
}

}  // namespace

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
  const Wanted wanted{problem, algorithm, pass, tiling, carry};
  const MeasuredRun* found = best_of(measured, wanted);
  return found != nullptr ? found : best_of(recorded, wanted);
}

const MeasuredRun* Measurements::find_traced(const AttentionProblem& problem,
                                             std::string_view algorithm, std::string_view pass,
                                             const Tiling& tiling, Carry carry) const {
  const MeasuredRun* found = best_of(traced, {problem, algorithm, pass, tiling, carry});
  return found != nullptr && found->row.tiling == tiling ? found : nullptr;
}

std::string why_no_kernel(const RunInfo& run) {
  const ScheduleOptions& options = run.options;
  const std::string_view name = run.algorithm->name;
  if (run.totals.pass == PassKind::both) {
    return "a kernel is measured one pass at a time: forward or backward";
  }
  if (const std::string variant = to_string(options.variant); !variant.empty()) {
    return fmt::format("no kernel is {} with {}", name, variant);
  }
  if (options.skip_unused_kv && run.totals.pass == PassKind::backward) {
    return "the kernel loads K and V of every column tile, used or not";
  }
  if (run.algorithm->splits_keys &&
      options.splits != split_count(run.problem, run.tiling, run.gpu.sm_count)) {
    return fmt::format("the kernel cuts the keys by its own rule, not into {} splits",
                       options.splits);
  }
  return {};
}

SeenRuns seen_runs(const RunInfo& run, const Measurements& measurements) {
  SeenRuns seen{.no_kernel = why_no_kernel(run)};
  if (!seen.no_kernel.empty()) return seen;
  const std::string_view algorithm = run.algorithm->name;
  const std::string_view pass = to_string(run.totals.pass);
  const Carry carry = run.options.carry;
  seen.run = measurements.find(run.problem, algorithm, pass, run.tiling, carry);
  seen.traced = measurements.find_traced(run.problem, algorithm, pass, run.tiling, carry);
  return seen;
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

std::vector<MeasuredRun> load_shipped_traces(std::vector<std::string>& problems) {
  constexpr std::string_view kFolder = "recordings/traces";
  std::vector<MeasuredRun> runs;
  for (const std::string& name : list_assets(kFolder)) {
    const Result<std::filesystem::path> path = find_asset(kFolder, name);
    if (!path) continue;
    const Result<KernelTrace> trace = read_kernel_trace(path.value());
    if (trace) {
      runs.push_back(run_of(trace.value()));
    } else {
      problems.push_back(trace.error().message);
    }
  }
  return runs;
}

}  // namespace attnscope::app
