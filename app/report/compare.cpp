#include "app/report/compare.h"

#include <fmt/core.h>

#include <algorithm>

#include "app/report/output_tile.h"
#include "app/report/reasons.h"

namespace attnscope {

const ComparisonLine* Comparison::find(Level level, std::string_view quantity) const {
  const auto found = std::find_if(lines.begin(), lines.end(), [&](const ComparisonLine& line) {
    return line.launch.empty() && line.level == level && line.quantity == quantity;
  });
  return found == lines.end() ? nullptr : &*found;
}

namespace {

/// Why the counter has no value.
std::string missing_reason(const Measurement& measurement, std::string_view counter_name) {
  for (const std::string_view key : {counter_name, std::string_view("*")}) {
    const auto found = measurement.unavailable_counters.find(key);
    if (found != measurement.unavailable_counters.end()) return found->second;
  }
  return "the recording lacks this counter";
}

/// Sets the gap of a line that has both numbers, and why there is one.
void add_gap(ComparisonLine& line, const Comparison& comparison, const GpuDescription& gpu) {
  if (auto words = small_run_words(line, comparison.model, gpu)) {
    line.in_place_of_gap = std::move(words->brief);
    line.reason = std::move(words->reason);
    return;
  }
  if (*line.modelled > 0) line.gap_percent = 100.0 * (*line.recorded / *line.modelled - 1.0);
  line.reason = gap_reason(line, comparison.model, gpu, comparison.run);
}

ComparisonLine line_of(Level level, std::string_view quantity, std::string launch,
                       std::string unit) {
  ComparisonLine line;
  line.level = level;
  line.quantity = quantity;
  line.launch = std::move(launch);
  line.unit = std::move(unit);
  return line;
}

/// The traffic lines of one launch, or of the pass.
class TrafficLines {
 public:
  TrafficLines(Comparison& comparison, const GpuDescription& gpu)
      : comparison_(comparison), gpu_(gpu) {}

  void add(Level level, const std::string& launch, const Bytes& modelled,
           const Counters& counters) {
    const bool is_dram = level == Level::dram;
    add_line(level, "read", launch, modelled.read_bytes, counters,
             is_dram ? counter::kDramReadBytes : counter::kRequestedReadBytes);
    add_line(level, "written", launch, modelled.write_bytes, counters,
             is_dram ? counter::kDramWriteBytes : counter::kRequestedWriteBytes);
    if (level == Level::requested && modelled.atomic_bytes > 0) {
      add_line(level, kAddedQuantity, launch, modelled.atomic_bytes, counters,
               counter::kL2ReductionSectors, kSectorBytes);
    }
  }

 private:
  void add_line(Level level, std::string_view quantity, const std::string& launch, Index modelled,
                const Counters& counters, std::string_view counter_name, Index unit_bytes = 1) {
    ComparisonLine line = line_of(level, quantity, launch, "bytes");
    const bool alone = !comparison_.stands_alone.empty();
    if (!alone) line.modelled = static_cast<double>(modelled);
    const auto found = counters.find(counter_name);
    if (found == counters.end()) {
      line.unavailable = missing_reason(*comparison_.run.measurement, counter_name);
    } else {
      line.recorded = found->second * static_cast<double>(unit_bytes);
      if (!alone) add_gap(line, comparison_, gpu_);
    }
    comparison_.lines.push_back(std::move(line));
  }

  Comparison& comparison_;
  const GpuDescription& gpu_;
};

void add_time_line(Comparison& comparison, const GpuDescription& gpu) {
  ComparisonLine line = line_of(Level::time, "time", "", "s");
  line.recorded = comparison.run.measurement->time.median_s;
  if (comparison.stands_alone.empty()) {
    line.modelled = comparison.model.bound_s;
    add_gap(line, comparison, gpu);
  }
  comparison.lines.push_back(std::move(line));
}

}  // namespace

Comparison compare(const SimulationReport& model, const GpuDescription& gpu,
                   const RecordingRow& run, const MeasuredOn& on) {
  Comparison comparison{
      .run = run, .on = on, .model = model, .unavailable = "", .stands_alone = "", .lines = {}};
  if (!run.measurement) {
    comparison.unavailable =
        run.error ? words(*run.error, Reader::command_line) : "the recording holds no measurement";
    return comparison;
  }
  comparison.stands_alone = difference(model, gpu, run, on).words;

  // The whole pass first, then launch by launch where there are several
  TrafficLines traffic(comparison, gpu);
  const Counters& totals = run.measurement->counters;
  if (comparison.stands_alone.empty()) traffic.add(Level::paper, "", model.paper, totals);
  traffic.add(Level::requested, "", model.requested, totals);
  traffic.add(Level::dram, "", model.dram, totals);
  add_time_line(comparison, gpu);
  if (model.launches.size() < 2) return comparison;
  for (const LaunchReport& launch : model.launches) {
    for (const LaunchCounters& recorded : run.measurement->launches) {
      if (recorded.name != launch.name) continue;
      traffic.add(Level::requested, launch.name, launch.requested, recorded.counters);
      traffic.add(Level::dram, launch.name, launch.dram, recorded.counters);
    }
  }
  return comparison;
}

Result<SimulationReport> model_kernel_run(const ResolvedRun& run, const GpuDescription& gpu,
                                          Index output_rows) {
  RunSpec spec = run.asked;
  spec.problem = run.problem;
  if (run.tiling.Br > 0) spec.set_tiling(run.tiling);
  const Algorithm* algorithm = find_algorithm(run.algorithm());
  spec.separate_heads = algorithm != nullptr && algorithm->splits_keys;
  spec.variant.output_rows = output_rows;
  spec.allow_overflow = true;
  return resolve_and_simulate(spec, gpu);
}

Result<Comparison> model_and_compare(const RecordingRow& run, const MeasuredOn& on,
                                     const GpuDescription& gpu) {
  const auto model = model_kernel_run(run.run, gpu, fitted_output_rows(run).value_or(0));
  if (!model) return model.error();
  return compare(model.value(), gpu, run, on);
}

std::optional<std::string> find_gpu_of(const DeviceInfo& device) {
  for (const std::string& name : list_gpus()) {
    const auto gpu = load_gpu(name);
    if (gpu && describes(gpu.value(), device)) return name;
  }
  return std::nullopt;
}

}  // namespace attnscope
