#include "app/jobs/measurements.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <memory>

#include "app/report/measured_trace.h"
#include "sim/device/assets.h"
#include "sim/snapshot/snapshot.h"

namespace attnscope::app {

namespace {

/// A cheap comparison that excludes most runs.
bool may_suit(const MeasuredRun& run, const SimulationReport& model) {
  return run.row.run.problem == model.run.problem &&
         run.row.run.algorithm() == model.run.algorithm();
}

/// How well a run matches the model; 0: not at all.
int suitability(const MeasuredRun& run, const SimulationReport& model, const GpuDescription& gpu) {
  if (!may_suit(run, model)) return 0;
  const MeasuredOn& on = run.provenance.on;
  const DifferenceIn in = difference(model, gpu, run.row, on).in;
  if (in != DifferenceIn::nothing && in < DifferenceIn::gpu) return 0;
  const bool same_gpu = in != DifferenceIn::gpu;
  return 1 + (run.provenance.kind == NumberKind::measured && run.row.measurement ? 8 : 0) +
         (same_gpu && on.cache == CacheState::cold ? 4 : 0) + (run.row.measurement ? 2 : 0) +
         (run.row.run.tiling == model.run.tiling ? 1 : 0);
}

MeasuredRun run_of(const KernelTrace& trace) {
  const Recording& header = trace.header;
  return {
      row_of(trace),
      {NumberKind::recorded, {header.device, CacheState::warm}, header.date, header.build.commit}};
}

}  // namespace

std::string RunProvenance::describe() const {
  std::string text = fmt::format("{} on {}", to_string(kind), gpu());
  if (!date.empty()) text += ", " + date;
  if (!on.device.driver.empty()) text += ", driver " + on.device.driver;
  if (!commit.empty()) text += ", commit " + commit.substr(0, 8);
  return text + fmt::format(", {} L2", attnscope::to_string(on.cache));
}

std::optional<double> MeasuredRun::time_s() const {
  if (!row.measurement) return std::nullopt;
  return row.measurement->time.median_s;
}

std::optional<double> MeasuredRun::counter(std::string_view name) const {
  if (!row.measurement) return std::nullopt;
  return row.measurement->counter(name);
}

std::string MeasuredRun::why_unavailable(std::string_view counter_name) const {
  if (row.error) return words(*row.error, Reader::screen);
  if (!row.measurement) return "not measured";
  const auto& reasons = row.measurement->unavailable_counters;
  for (const std::string_view name : {counter_name, std::string_view("*")}) {
    const auto found = reasons.find(name);
    if (found != reasons.end()) return found->second;
  }
  return {};
}

Recording recording_of(const MeasuredRun& run) {
  const RunProvenance& provenance = run.provenance;
  Recording recording{.device = provenance.on.device,
                      .date = provenance.date,
                      .protocol = {.cache = provenance.on.cache}};
  recording.build.commit = provenance.commit;
  recording.rows.push_back(readable(run.row));
  return recording;
}

std::vector<MeasuredRun> runs_of(const Recording& recording, NumberKind kind) {
  const RunProvenance provenance{
      kind, {recording.device, recording.protocol.cache}, recording.date, recording.build.commit};
  std::vector<MeasuredRun> runs;
  for (const RecordingRow& row : recording.rows) runs.push_back({row, provenance});
  return runs;
}

template <typename Suitability>
const MeasuredRun* Measurements::best(const Suitability& suitability) const {
  const MeasuredRun* best = nullptr;
  int most = 1;
  for (const auto* runs : {&recorded, &measured}) {
    for (const MeasuredRun& run : *runs) {
      const int suits = suitability(run);
      if (suits < most) continue;
      most = suits;
      best = &run;
    }
  }
  return best;
}

const MeasuredRun* Measurements::find(const SimulationReport& model,
                                      const GpuDescription& gpu) const {
  return best([&](const MeasuredRun& run) { return suitability(run, model, gpu); });
}

const MeasuredRun* Measurements::find_comparable(const SimulationReport& model,
                                                 const GpuDescription& gpu) const {
  return best([&](const MeasuredRun& run) {
    if (!may_suit(run, model)) return 0;
    const bool comparable = difference(model, gpu, run.row, run.provenance.on).none();
    return comparable ? (run.row.measurement ? 2 : 1) : 0;
  });
}

const MeasuredRun* Measurements::find_similar(const SimulationReport& model,
                                              const GpuDescription& gpu) const {
  return best([&](const MeasuredRun& run) {
    if (!may_suit(run, model) || !run.row.measurement) return 0;
    const MeasuredOn& on = run.provenance.on;
    const DifferenceIn in = difference(model, gpu, run.row, on).in;
    if (in != DifferenceIn::tiling && in != DifferenceIn::choice) return 0;

    // Apart from tiles and switches, the run must not differ from the model
    RecordingRow row = run.row;
    row.run.tiling = model.run.tiling;
    row.run.asked.switches = model.run.asked.switches;
    row.measurement->instructions.clear();
    if (!difference(model, gpu, row, on).none()) return 0;
    return run.row.run.tiling == model.run.tiling ? 2 : 1;
  });
}

const MeasuredRun* Measurements::find_traced(const SimulationReport& model,
                                             const GpuDescription& gpu) const {
  const auto found = std::ranges::find_if(traced, [&](const MeasuredRun& run) {
    if (!may_suit(run, model)) return false;
    const DifferenceIn in = difference(model, gpu, run.row, run.provenance.on).in;
    return in == DifferenceIn::nothing || in == DifferenceIn::cache;
  });
  return found == traced.end() ? nullptr : &*found;
}

SeenRuns seen_runs(const RunInfo& run, const Measurements& measurements) {
  return {.run = measurements.find(run.totals, run.gpu),
          .traced = measurements.find_traced(run.totals, run.gpu),
          .no_kernel = why_no_kernel(run.totals, run.gpu)};
}

std::vector<MeasuredRun> load_shipped_recordings(std::vector<std::string>& problems) {
  std::vector<MeasuredRun> all;
  for (const std::string& name : list_assets("recordings")) {
    const auto path = find_asset("recordings", name);
    if (!path) continue;
    const auto recording = read_recording(path.value());
    if (recording) {
      std::ranges::move(runs_of(recording.value(), NumberKind::recorded), std::back_inserter(all));
    } else {
      problems.push_back(words(recording.error(), Reader::screen));
    }
  }
  return all;
}

std::vector<MeasuredRun> load_shipped_traces(std::vector<std::string>& problems) {
  std::vector<MeasuredRun> all;
  for (const ShippedTrace& shipped : shipped_traces()) {
    if (shipped.trace) {
      all.push_back(run_of(shipped.trace.value()));
    } else {
      problems.push_back(words(shipped.trace.error(), Reader::screen));
    }
  }
  return all;
}

const ShippedRuns& shipped_runs() {
  // Never destroyed: freeing the runs would take a tenth of the time of a program that draws one
  // picture
  static const ShippedRuns* const shipped = [] {
    auto read = std::make_unique<ShippedRuns>();
    read->recorded = load_shipped_recordings(read->problems);
    read->traced = load_shipped_traces(read->problems);
    read->peers = load_shipped_peer_times(read->problems);
    return read.release();
  }();
  return *shipped;
}

}  // namespace attnscope::app
