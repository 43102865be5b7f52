#include "sim/simulation.h"

#include <fmt/core.h>

#include <algorithm>

#include "reference/attention_problem.h"
#include "reference/checked_count.h"
#include "sim/observers/flop_counter.h"
#include "sim/observers/hbm_footprint.h"
#include "sim/observers/progress_observer.h"
#include "sim/resolve.h"

namespace attnscope {

namespace {

/// The counts of one head.
struct HeadCounts {
  TrafficCounter traffic;
  FlopCounter flops;
  OpCounter ops;
  HbmFootprint footprint;
};

/// Throws Cancelled.
HeadCounts counts_of_head(const Pass& pass, const PassRun& run, const std::atomic<bool>* cancel) {
  HeadCounts counts;
  CancelObserver canceller(cancel);
  CountingObserver* const counters[] = {&counts.traffic, &counts.flops, &counts.ops,
                                        &counts.footprint, &canceller};
  count_head(pass, run, 0, run.problem.heads_per_kv_head() - 1, counters);  // it runs every launch
  return counts;
}

/// The number of heads of a batch entry that run the launch.
Index heads_of(const Launch& launch, const AttentionProblem& problem) {
  return launch.once_per_kv_head ? problem.kv_heads : problem.heads;
}

/// The papers' accounting of one head's part of a launch: the requested bytes, or the touched part
/// of each operand once.
Bytes paper_bytes(const Launch& launch, const BytesByTensor& requested,
                  const AttentionProblem& problem) {
  if (!launch.paper_counts_operands_once) return sum(requested);
  Bytes paper;
  for (const Tensor tensor : kTensors) {
    if (tensor == Tensor::LSE) continue;  // the paper's standard attention stores none
    Index once = tensor_shape(tensor, problem).elems() * element_bytes(tensor, problem.dtype);
    if (layout_of(tensor) == TensorLayout::group_key_by_d) once /= problem.heads_per_kv_head();
    paper.read_bytes += std::min(once, of(requested, tensor).read_bytes);
    paper.write_bytes += std::min(once, of(requested, tensor).write_bytes);
  }
  return paper;
}

/// DRAM bytes of a launch, from the bytes that all heads request: see SimulationReport::compulsory.
Bytes compulsory_bytes(std::span<const LaunchReport> launches, std::size_t index, const Pass& pass,
                       const AttentionProblem& problem, Index splits, Index l2_bytes) {
  Bytes dram;
  for (const Tensor tensor : kTensors) {
    const Bytes& here = of(launches[index].by_tensor, tensor);
    const auto read_by = [&](const auto& launch) {
      return of(launch.by_tensor, tensor).read_bytes > 0;
    };
    const auto touched_by = [&](const auto& launch) {
      return read_by(launch) || of(launch.by_tensor, tensor).write_bytes > 0;
    };
    const Index whole = whole_tensor_bytes(tensor, problem, splits);
    const bool initial = std::ranges::find(pass.initial_values, tensor, &InitialValue::tensor) !=
                         pass.initial_values.end();
    const bool touched_before = initial || std::ranges::any_of(launches.first(index), touched_by);
    const bool read_after = std::ranges::any_of(launches.subspan(index + 1), read_by);
    const bool stays = whole <= l2_bytes;
    if (!(touched_before && stays)) dram.read_bytes += std::min(whole, here.read_bytes);
    if (!(read_after && stays)) dram.write_bytes += std::min(whole, here.write_bytes);
  }
  return dram;
}

/// Sums the launches' bounds into the report, and names the unit that sets the longest one.
void add_time_bound(SimulationReport& report, const GpuDescription& gpu) {
  const PeakRates rates(gpu, report.run.problem.dtype);
  double longest_s = -1;
  for (const LaunchReport& launch : report.launches) {
    const double dram_bytes = static_cast<double>(launch.compulsory.total());
    const TimeBound bound = time_bound(rates.seconds(launch.flops, dram_bytes));
    report.bound_s += bound.seconds;
    if (bound.seconds > longest_s) {
      longest_s = bound.seconds;
      report.bound_by = bound.unit;
    }
  }
}

/// The error for a tiling that does not fit; suggests one that does.
Error does_not_fit(const SimulationReport& report, const std::optional<Tiling>& nearest) {
  const Tiling& tiling = report.run.tiling;
  Error error =
      invalid_field(ErrorCode::does_not_fit, "Br",
                    "the tiling does not fit: {}; {}{} counts it anyway", report.overflow_reason,
                    nearest ? fmt::format("{} x {} does; ", nearest->Br, nearest->Bc) : "",
                    field_name("allow_overflow"));
  error.value = fmt::format("{} x {}", tiling.Br, tiling.Bc);
  if (nearest) error.accepted = fmt::format("{} x {}", nearest->Br, nearest->Bc);
  return error;
}

/// simulate(), but throws when cancelled.
Result<SimulationReport> counted(const ResolvedRun& run, const GpuDescription& gpu,
                                 const std::atomic<bool>* cancel) {
  const AttentionProblem& problem = run.problem;
  const Algorithm& algorithm = *find_algorithm(run.algorithm());
  SimulationReport report;
  report.run = run;
  report.gpu = gpu.name;

  // Reject a tiling that does not fit before counting it
  const ScheduleOptions options = schedule_options(run, gpu);
  const Pass pass = make_pass(algorithm, run.pass(), options);
  const PassRun pass_run{problem, run.tiling, options, {}};
  const OnChipFit fit = on_chip_fit(pass, pass_run, gpu);
  report.sram_bytes_per_block = fit.sram_bytes_per_block;
  report.register_bytes_per_block = fit.register_bytes_per_block;
  report.fits = fit.fits;
  report.overflow_reason = fit.overflow_reason;
  report.padded = fit.padded;
  if (!report.fits && !run.asked.allow_overflow) {
    return does_not_fit(report,
                        model_tiling(algorithm, problem, run.asked.variant, gpu, run.pass()));
  }

  // Count one head of each group of batch entries, and multiply by the heads in it
  for (const Launch& launch : pass.launches) {
    LaunchReport& entry = report.launches.emplace_back();
    entry.name = launch.name;
    entry.thread_blocks = problem.batch * heads_of(launch, problem) *
                          launch.blocks_per_head(launch.grid(problem, run.tiling, options));
  }
  PassRun one_entry = pass_run;
  for (const KeyLengthGroup& group : group_batch_by_key_length(problem)) {
    leave_one_entry(one_entry.problem, group);
    const HeadCounts counts = counts_of_head(pass, one_entry, cancel);
    report.peak_hbm_bytes = std::max(report.peak_hbm_bytes, counts.footprint.peak_bytes(problem));
    for (std::size_t index = 0; index < pass.launches.size(); ++index) {
      const Launch& launch = pass.launches[index];
      const Index heads = group.count * heads_of(launch, problem);
      const BytesByTensor& by_tensor = counts.traffic.launches()[index];
      LaunchReport& entry = report.launches[index];
      entry.paper += paper_bytes(launch, by_tensor, problem) * heads;
      for (std::size_t t = 0; t < by_tensor.size(); ++t) {
        entry.by_tensor[t] += by_tensor[t] * heads;
      }
      entry.flops += counts.flops.launches()[index] * heads;
      report.tile_ops += counts.ops.launches()[index] * heads;
    }
  }

  // Sum over the launches
  for (std::size_t index = 0; index < report.launches.size(); ++index) {
    LaunchReport& entry = report.launches[index];
    entry.requested = sum(entry.by_tensor);
    entry.compulsory =
        compulsory_bytes(report.launches, index, pass, problem, options.splits, gpu.l2_bytes);
    report.paper += entry.paper;
    report.requested += entry.requested;
    for (std::size_t t = 0; t < report.by_tensor.size(); ++t) {
      report.by_tensor[t] += entry.by_tensor[t];
    }
    report.compulsory += entry.compulsory;
    report.matmul_flops += entry.flops.matmul;
    report.non_matmul_flops += entry.flops.non_matmul;
    report.exponentials += entry.flops.exponentials;
  }
  add_time_bound(report, gpu);
  return report;
}

}  // namespace

Result<SimulationReport> simulate(const ResolvedRun& run, const GpuDescription& gpu,
                                  const std::atomic<bool>* cancel) {
  try {
    return counted(run, gpu, cancel);
  } catch (const Cancelled&) {
    return cancelled();
  } catch (const CountTooLarge& too_large) {
    return invalid_field(ErrorCode::too_many, "heads",
                         "bytes or operations: {}; use fewer {} or a shorter {}", too_large.what(),
                         field_name("heads"), field_name("seq_len"));
  }
}

Result<SimulationReport> resolve_and_simulate(const RunSpec& spec, const GpuDescription& gpu,
                                              const std::atomic<bool>* cancel) {
  ATTNSCOPE_TRY(const auto run, resolve(spec, gpu, cancel));
  return simulate(run, gpu, cancel);
}

Result<std::optional<WarpReport>> count_warps(const ResolvedRun& run, const GpuDescription& gpu) {
  const Algorithm& algorithm = *find_algorithm(run.algorithm());
  if (!algorithm.warps) return std::optional<WarpReport>();

  // Count one head of each group of batch entries
  const AttentionProblem& problem = run.problem;
  WarpReport report{
      {run.asked.warp_partition.value_or(*algorithm.warps), run.asked.warps.value_or(kPaperWarps)},
      {}};
  const ScheduleOptions options = schedule_options(run, gpu);
  const Pass pass = make_pass(algorithm, run.pass(), options);
  PassRun one_entry{problem, run.tiling, options, {}};
  try {
    for (const KeyLengthGroup& group : group_batch_by_key_length(problem)) {
      leave_one_entry(one_entry.problem, group);
      WarpCounter counter(report.layout);
      CountingObserver* const counters[] = {&counter};
      count_head(pass, one_entry, 0, 0, counters);
      report.traffic += counter.total() * (problem.heads * group.count);
    }
  } catch (const CountTooLarge& too_large) {
    return invalid_field(ErrorCode::too_many, "warps",
                         "the traffic of {}: {}; use fewer heads or larger tiles",
                         field_name("warps"), too_large.what());
  }
  return std::optional(report);
}

}  // namespace attnscope
