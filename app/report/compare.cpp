#include "app/report/compare.h"

#include <algorithm>

#include "app/report/reasons.h"

namespace attnscope {

const ComparisonLine* Comparison::find(Level level, std::string_view quantity) const {
  const auto found = std::find_if(lines.begin(), lines.end(), [&](const ComparisonLine& line) {
    return line.launch.empty() && line.level == level && line.quantity == quantity;
  });
  return found == lines.end() ? nullptr : &*found;
}

namespace {

/// The reason why the counter has no value.
std::string missing_reason(const Measurement& measurement, std::string_view counter_name) {
  for (const std::string_view key : {counter_name, std::string_view("*")}) {
    const auto found = measurement.unavailable_counters.find(key);
    if (found != measurement.unavailable_counters.end()) return found->second;
  }
  return "the recording lacks this counter";
}

/// Adds the line, with its gap unless the run is shown alone.
void add_line(Comparison& comparison, const GpuDescription& gpu, ComparisonLine line) {
  if (!comparison.stands_alone.empty()) line.modelled.reset();
  if (line.modelled && line.recorded) add_gap(line, comparison.model, gpu, comparison.run);
  comparison.lines.push_back(std::move(line));
}

/// Adds the traffic lines of one launch, or of the pass.
void add_traffic(Comparison& comparison, const GpuDescription& gpu, Level level,
                 const std::string& launch, const Bytes& modelled, const Counters& counters) {
  const auto add = [&](std::string_view quantity, Index bytes, std::string_view counter_name,
                       Index unit_bytes = 1) {
    ComparisonLine line{.level = level,
                        .quantity = std::string(quantity),
                        .launch = launch,
                        .unit = "bytes",
                        .modelled = static_cast<double>(bytes)};
    const auto found = counters.find(counter_name);
    if (found == counters.end()) {
      line.unavailable = missing_reason(*comparison.run.measurement, counter_name);
    } else {
      line.recorded = found->second * static_cast<double>(unit_bytes);
    }
    add_line(comparison, gpu, std::move(line));
  };
  const bool is_dram = level == Level::dram;
  add("read", modelled.read_bytes,
      is_dram ? counter::kDramReadBytes : counter::kRequestedReadBytes);
  add("written", modelled.write_bytes,
      is_dram ? counter::kDramWriteBytes : counter::kRequestedWriteBytes);
  if (level == Level::requested && modelled.atomic_bytes > 0) {
    add(kAddedQuantity, modelled.atomic_bytes, counter::kL2ReductionSectors, kSectorBytes);
  }
}

}  // namespace

Comparison compare(const SimulationReport& model, const GpuDescription& gpu,
                   const RecordingRow& run, const MeasuredOn& on) {
  Comparison comparison{.run = run, .on = on, .model = model};
  if (!run.measurement) {
    comparison.unavailable =
        run.error ? words(*run.error, Reader::command_line) : "the recording holds no measurement";
    return comparison;
  }
  comparison.stands_alone = difference(model, gpu, run, on).words;

  // The whole pass first, then launch by launch where there are several
  const auto add = [&](Level level, const std::string& launch, const Bytes& modelled,
                       const Counters& counters) {
    add_traffic(comparison, gpu, level, launch, modelled, counters);
  };
  const Counters& totals = run.measurement->counters;
  if (comparison.stands_alone.empty()) add(Level::paper, "", model.paper, totals);
  add(Level::requested, "", model.requested, totals);
  add(Level::dram, "", model.dram, totals);
  add_line(comparison, gpu,
           {.level = Level::time,
            .quantity = "time",
            .unit = "s",
            .modelled = model.bound_s,
            .recorded = run.measurement->time.median_s});
  if (model.launches.size() < 2) return comparison;
  for (const LaunchReport& launch : model.launches) {
    for (const LaunchCounters& recorded : run.measurement->launches) {
      if (recorded.name != launch.name) continue;
      add(Level::requested, launch.name, launch.requested, recorded.counters);
      add(Level::dram, launch.name, launch.dram, recorded.counters);
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
  const bool lost_its_mask = run.run.asked.block_mask && !run.run.problem.block_mask;
  if (lost_its_mask) return *run.error;
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
