#include "app/report/compare.h"

#include <fmt/core.h>

#include <algorithm>

#include "app/report/kernel_dram.h"
#include "app/report/kernel_time.h"
#include "app/report/product_tiles.h"
#include "app/report/program_requests.h"
#include "sim/resolve.h"

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

/// Adds the line, with its gap unless the run is shown alone.
void add_line(Comparison& comparison, const GpuDescription& gpu, ComparisonLine line) {
  if (!comparison.stands_alone.empty()) line.modelled.reset();
  if (line.modelled && line.recorded) add_gap(line, comparison.model, gpu, comparison.run);
  if (!line.modelled && comparison.stands_alone.empty()) {
    line.reason = "not predicted: too many tiles to follow through L2";
  }
  comparison.lines.push_back(std::move(line));
}

/// Adds the traffic lines of one launch or of the pass; only recorded bytes if none are modelled.
/// `beyond`: the bytes that the program requests beyond the tiles.
void add_traffic(Comparison& comparison, const GpuDescription& gpu, Level level,
                 const std::string& launch, const std::optional<Bytes>& modelled,
                 const Counters& counters, const Bytes& beyond = {}) {
  const std::optional<DramPrediction>& dram = comparison.model.dram;
  const bool in_transition =
      level == Level::dram && launch.empty() && dram && dram->in_transition();
  const auto add = [&](std::string_view quantity, Index Bytes::*bytes,
                       std::string_view counter_name, Index unit_bytes = 1) {
    ComparisonLine line{
        .level = level, .quantity = std::string(quantity), .launch = launch, .unit = "bytes"};
    if (modelled) line.modelled = static_cast<double>((*modelled).*bytes);
    line.beyond_tiles = static_cast<double>(beyond.*bytes);
    if (in_transition) {
      line.transition = {static_cast<double>(dram->least.*bytes),
                         static_cast<double>(dram->most.*bytes)};
    }
    const auto found = counters.find(counter_name);
    if (found == counters.end()) {
      line.unavailable = missing_reason(*comparison.run.measurement, counter_name);
    } else {
      line.recorded = found->second * static_cast<double>(unit_bytes);
    }
    add_line(comparison, gpu, std::move(line));
  };
  const bool is_dram = is_of_dram(level);
  add("read", &Bytes::read_bytes, is_dram ? counter::kDramReadBytes : counter::kRequestedReadBytes);
  add("written", &Bytes::write_bytes,
      is_dram ? counter::kDramWriteBytes : counter::kRequestedWriteBytes);
  if (level == Level::requested && modelled->atomic_bytes > 0) {
    add(kAddedQuantity, &Bytes::atomic_bytes, counter::kL2ReductionSectors, kSectorBytes);
  }
}

/// Adds the lines of the bytes that L2 serves: the requested bytes, and the part that misses. The
/// recorded bytes are counted from the sectors that the L2 slices look up.
void add_l2(Comparison& comparison, const GpuDescription& gpu, const std::string& launch,
            const Bytes& requested, const std::optional<Index>& missed, const Counters& counters) {
  const auto add = [&](std::string_view quantity, std::optional<double> modelled,
                       std::initializer_list<std::string_view> added,
                       std::string_view subtracted = {}) {
    ComparisonLine line{.level = Level::l2,
                        .quantity = std::string(quantity),
                        .launch = launch,
                        .unit = "bytes",
                        .modelled = modelled};
    double sectors = 0;
    const auto count = [&](std::string_view name, double sign) {
      const auto found = counters.find(name);
      if (found != counters.end()) {
        sectors += sign * found->second;
      } else if (line.unavailable.empty()) {
        line.unavailable = missing_reason(*comparison.run.measurement, name);
      }
    };
    for (const std::string_view name : added) count(name, 1);
    if (!subtracted.empty()) count(subtracted, -1);
    if (line.unavailable.empty()) line.recorded = sectors * static_cast<double>(kSectorBytes);
    add_line(comparison, gpu, std::move(line));
  };
  add("read", static_cast<double>(requested.read_bytes), {counter::kL2ReadSectors});
  add("written", static_cast<double>(requested.write_bytes),
      {counter::kL2WriteSectors, counter::kL2ReductionSectors});
  add(kMissedQuantity, missed ? std::optional(static_cast<double>(*missed)) : std::nullopt,
      {counter::kL2ReadSectors, counter::kL2WriteSectors, counter::kL2ReductionSectors},
      counter::kL2HitSectors);
}

/// Adds the lines of the bytes that DRAM moved: beside the prediction, and beside the compulsory
/// bytes. A run shown alone has only the first, a launch without a prediction only the second.
void add_dram(Comparison& comparison, const GpuDescription& gpu, const std::string& launch,
              const std::optional<Bytes>& predicted, const Bytes& compulsory,
              const Counters& counters) {
  const bool alone = !comparison.stands_alone.empty();
  if (predicted || alone || launch.empty()) {
    add_traffic(comparison, gpu, Level::dram, launch, predicted, counters);
  }
  if (alone) return;
  add_traffic(comparison, gpu, Level::bound, launch, compulsory, counters);
}

/// Adds the time beside its prediction, if there is one, and beside its lower bound.
void add_time(Comparison& comparison, const GpuDescription& gpu) {
  const SimulationReport& model = comparison.model;
  const auto line = [&](Level level, std::optional<double> modelled) {
    return ComparisonLine{.level = level,
                          .quantity = "time",
                          .unit = "s",
                          .modelled = modelled,
                          .recorded = comparison.run.measurement->time.median_s};
  };
  const bool alone = !comparison.stands_alone.empty();
  if (model.time || alone) {
    ComparisonLine predicted =
        line(Level::time, model.time ? std::optional(model.time->seconds) : std::nullopt);
    if (model.time) predicted.uncalibrated = model.time->uncalibrated;
    add_line(comparison, gpu, std::move(predicted));
  }
  if (!alone) add_line(comparison, gpu, line(Level::bound, model.bound_s));
}

}  // namespace

Comparison compare(const SimulationReport& model, const GpuDescription& gpu,
                   const RecordingRow& run, const MeasuredOn& on) {
  Comparison comparison{.run = run, .on = on, .model = model};
  if (!run.measurement) {
    comparison.unavailable =
        run.error ? words(*run.error, Reader::command_line) : "the recording has no measurement";
    return comparison;
  }
  comparison.stands_alone = difference(model, gpu, run, on).words;

  // The whole pass first, then launch by launch if there are several
  const auto add_requested = [&](const std::string& launch, Bytes tiles, const Bytes& beyond,
                                 const Counters& counters) {
    add_traffic(comparison, gpu, Level::requested, launch, tiles += beyond, counters, beyond);
  };
  const std::vector<Bytes> beyond = requests_beyond_tiles(model, gpu, run);
  Bytes beyond_in_all;
  for (const Bytes& of_launch : beyond) beyond_in_all += of_launch;
  const Counters& totals = run.measurement->counters;
  if (comparison.stands_alone.empty()) {
    add_traffic(comparison, gpu, Level::paper, "", model.paper, totals, beyond_in_all);
  }
  add_requested("", model.requested, beyond_in_all, totals);
  add_l2(comparison, gpu, "", model.requested,
         model.dram ? std::optional(model.dram->total_missed_bytes()) : std::nullopt, totals);
  add_dram(comparison, gpu, "", model.dram ? std::optional(model.dram->total) : std::nullopt,
           model.compulsory, totals);
  add_time(comparison, gpu);
  if (model.launches.size() < 2) return comparison;
  for (std::size_t index = 0; index < model.launches.size(); ++index) {
    const LaunchReport& launch = model.launches[index];
    for (const LaunchCounters& recorded : run.measurement->launches) {
      if (recorded.name != launch.name) continue;
      add_requested(launch.name, launch.requested, beyond[index], recorded.counters);
      add_l2(comparison, gpu, launch.name, launch.requested,
             model.dram ? std::optional(model.dram->missed_bytes[index]) : std::nullopt,
             recorded.counters);
      add_dram(comparison, gpu, launch.name,
               model.dram ? std::optional(model.dram->launches[index]) : std::nullopt,
               launch.compulsory, recorded.counters);
    }
  }
  return comparison;
}

namespace {

Result<ResolvedRun> resolve_kernel_run(const ResolvedRun& run, const GpuDescription& gpu,
                                       const ProductTiles& product_tiles) {
  RunSpec spec = run.asked;
  spec.problem = run.problem;
  if (run.tiling.Br > 0) spec.set_tiling(run.tiling);
  const Algorithm* algorithm = find_algorithm(run.algorithm());
  spec.separate_heads = algorithm != nullptr && algorithm->splits_keys;
  spec.variant.product_tiles = product_tiles;
  spec.allow_overflow = true;
  return resolve(spec, gpu);
}

}  // namespace

Result<SimulationReport> model_kernel_run(const ResolvedRun& run, const GpuDescription& gpu,
                                          const ProductTiles& product_tiles) {
  ATTNSCOPE_TRY(const auto resolved, resolve_kernel_run(run, gpu, product_tiles));
  return simulate(resolved, gpu);
}

Result<SimulationReport> model_recorded_run(const RecordingRow& run, const GpuDescription& gpu,
                                            Index* work_left) {
  const bool lost_its_mask = run.run.asked.block_mask && !run.run.problem.block_mask;
  if (lost_its_mask) return *run.error;
  ATTNSCOPE_TRY(const auto resolved, resolve_kernel_run(run_of_program(run, gpu), gpu,
                                                        recorded_product_tiles(run).tiles));
  if (work_left != nullptr) {
    const Index work = counting_work(resolved);
    if (work > *work_left) {
      return unavailable(
          "counting this row exceeds the limit of {} visited tiles for all rows of a comparison; "
          "compare fewer rows, or count it with simulate",
          kMostComparedWork);
    }
    *work_left -= work;
  }
  return simulate(resolved, gpu);
}

void predict_recorded_run(SimulationReport& model, const GpuDescription& gpu,
                          const RecordingRow& run, const MeasuredOn& on,
                          const PredictionLimits& limits) {
  if (!run.measurement || !difference(model, gpu, run, on).none()) return;
  predict_kernel_dram(model, gpu, run.measurement->launches, limits);
  predict_kernel_time(model, gpu, run.measurement->launches, limits.cancel);
}

Result<Comparison> model_and_compare(const RecordingRow& run, const MeasuredOn& on,
                                     const GpuDescription& gpu, const PredictionLimits& limits) {
  ATTNSCOPE_TRY(auto model, model_recorded_run(run, gpu));
  predict_recorded_run(model, gpu, run, on, limits);
  return compare(model, gpu, run, on);
}

std::optional<std::string> find_gpu_of(const DeviceInfo& device) {
  for (const std::string& name : list_gpus()) {
    const auto gpu = load_gpu(name);
    if (gpu && describes(gpu.value(), device)) return name;
  }
  return std::nullopt;
}

}  // namespace attnscope
