#include "sim/time/time_model.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "reference/check.h"
#include "sim/dram/l2_cache.h"
#include "sim/observers/progress_observer.h"
#include "sim/time/stepping_launch.h"

namespace attnscope {

namespace {

/// A launch that moves bytes and hardly computes. Each block begins with loads, if there are any,
/// and ends with stores; in the meantime, the other blocks of its SM use the SM's share of the
/// bandwidth, if there are enough of them.
LaunchTime streaming_time(const LaunchSetting& setting) {
  const auto& [requested_read, requested_written, dram_read, dram_written] = setting.bytes;
  const MachineRates& rates = setting.rates;
  const double l2_s =
      requested_read / rates.l2_read_bytes_per_s + requested_written / rates.l2_write_bytes_per_s;
  const double dram_s = rates.dram_seconds(dram_read, dram_written);
  const double moves_s = std::max(l2_s, dram_s);
  const double latencies = requested_read > 0 ? 2 : 1;
  const double block_waits_s =
      (rates.block_launch_cycles + latencies * rates.dram_latency_cycles) / rates.boost_clock_hz;
  const double blocks_of_sm = static_cast<double>(setting.thread_blocks) / rates.sm_count;
  const double in_turns_s =
      (moves_s + blocks_of_sm * block_waits_s) / static_cast<double>(setting.residency);
  LaunchTime time;
  of(time.parts, l2_s > dram_s ? TimePart::l2 : TimePart::dram) = moves_s;
  of(time.parts, TimePart::waiting) =
      std::max(block_waits_s, in_turns_s - moves_s) + rates.code_wait_s();
  return time;
}

/// A library's matrix product, tile by tile on every SM; `compute_s`: its time at the units' full
/// rate.
LaunchTime product_time(const LaunchSetting& setting, double compute_s) {
  const LaunchBytes& bytes = setting.bytes;
  const MachineRates& rates = setting.rates;
  LaunchTime time = streaming_time(
      {rates, setting.gpu, {bytes.requested_read, 0, bytes.dram_read, 0}, setting.cancel});
  const double loads_s = std::max(of(time.parts, TimePart::l2), of(time.parts, TimePart::dram));
  if (compute_s > loads_s) {
    of(time.parts, TimePart::l2) = of(time.parts, TimePart::dram) = 0;
    of(time.parts, TimePart::steps) = compute_s;
  }
  const double l2_s = bytes.requested_written / rates.l2_write_bytes_per_s;
  const double dram_s = rates.dram_seconds(0, bytes.dram_written);
  of(time.parts, l2_s > dram_s ? TimePart::l2 : TimePart::dram) += std::max(l2_s, dram_s);
  return time;
}

double sum(const PartSeconds& parts) {
  return std::accumulate(parts.begin(), parts.end(), 0.0);
}

/// The clock falls below that of light work in proportion to the share of the time (`compute_s`)
/// during which the tensor cores work.
double product_clock_hz(const MachineRates& rates, const LaunchTime& time, double compute_s) {
  const double seconds = sum(time.parts);
  const double share = seconds > 0 ? std::min(1.0, compute_s / seconds) : 0.0;
  return rates.boost_clock_hz + share * (rates.matrix_clock_hz - rates.boost_clock_hz);
}

MatrixUnit matrix_unit_of(const KernelCosts& costs, DType dtype) {
  if (dtype == DType::fp32) return MatrixUnit::cuda_cores;
  return costs.has_wgmma_products ? MatrixUnit::wgmma : MatrixUnit::mma_sync;
}

/// The measured cycles of a step, converted to units with other rates: scaled by the ratio of the
/// predictions from the units' rates alone.
StepCosts at_rates(StepCosts measured, const StepCosts& before, const StepCosts& after) {
  for (std::size_t k = 0; k < measured.cycles.size(); ++k) {
    measured.cycles[k] *= after.cycles[k] / before.cycles[k];
  }
  return measured;
}

/// The blocks of one head of a batch entry, launch by launch, including launches that run once per
/// KV head.
std::vector<std::vector<BlockWork>> work_of_head(const SimulationReport& report,
                                                 const GpuDescription& gpu, Index consumers,
                                                 Index batch, const std::atomic<bool>* cancel) {
  const ResolvedRun& run = report.run;
  const ScheduleOptions options = without_break(schedule_options(run, gpu));
  const PassRun pass_run{run.problem, run.tiling, options, {}};
  const Pass pass = make_head_pass(*find_algorithm(run.algorithm()), run.pass(), pass_run.options);
  BlockWorkRecorder recorder(consumers);
  CancelObserver canceller(cancel);
  CountingObserver* const counters[] = {&recorder, &canceller};
  count_blocks(pass, pass_run, batch, run.problem.heads_per_kv_head() - 1, counters);
  return recorder.launches();
}

/// The blocks of every launch; those of each head are in `costs.order`. Heads differ only by the
/// batch entry's key length; a set of heads whose blocks start in turn is treated as one head, each
/// of whose blocks starts that many times.
std::vector<LaunchWork> work_of_pass(const SimulationReport& report, const GpuDescription& gpu,
                                     const KernelCosts& costs, const std::atomic<bool>* cancel) {
  const AttentionProblem& problem = report.run.problem;
  const bool by_length = problem.has_key_lengths();
  const Index entries = by_length ? problem.batch : 1;
  const Index repeats = by_length ? problem.heads : 1;
  std::map<Index, std::vector<std::vector<BlockWork>>> of_length;
  std::vector<LaunchWork> work(report.launches.size());
  const Index in_turn = by_length ? 1 : costs.heads_at_once;
  for (LaunchWork& launch : work) {
    launch.heads = by_length ? 1 : problem.batch * problem.heads / in_turn;
    launch.heads_at_once = in_turn;
    launch.flow = costs.flow;
  }
  for (Index batch = 0; batch < entries; ++batch) {
    const Index length = by_length ? problem.key_lengths[static_cast<std::size_t>(batch)] : 0;
    auto& launches = of_length[length];
    if (launches.empty()) launches = work_of_head(report, gpu, costs.flow.consumers, batch, cancel);
    for (std::size_t n = 0; n < work.size(); ++n) {
      const std::vector<BlockWork>& blocks = launches[n];
      const auto sequence = costs.order.sequence(static_cast<Index>(blocks.size()));
      for (Index head = 0; head < repeats; ++head) {
        for (const Index block : sequence) {
          for (Index turn = 0; turn < in_turn; ++turn) {
            work[n].blocks.push_back(blocks[static_cast<std::size_t>(block)]);
            work[n].ids.push_back({batch, head + turn, block});
          }
        }
      }
    }
  }
  return work;
}

/// Adds up the launches of a pass.
class PassTimes {
 public:
  PassTimes(const MachineRates& rates, TimePrediction& prediction)
      : rates_(rates), prediction_(prediction) {}

  /// `thread_blocks`: 0 if unknown: the launch is then assumed to fill the GPU.
  void add(const std::string& name, LaunchTime time, double clock_hz, Index thread_blocks) {
    const double blocks = thread_blocks > 0 ? static_cast<double>(thread_blocks) : rates_.sm_count;
    of(time.parts, TimePart::overhead) =
        prediction_.launches.empty() ? rates_.launch_overhead_s
                                     : rates_.launch_gap_before(std::max(blocks, blocks_before_));
    blocks_before_ = blocks;
    time.name = name;
    time.seconds = sum(time.parts);
    prediction_.seconds += time.seconds;
    cycles_ += time.seconds * clock_hz;
    prediction_.clock_hz = cycles_ / prediction_.seconds;
    prediction_.launches.push_back(std::move(time));
  }

 private:
  const MachineRates& rates_;
  TimePrediction& prediction_;
  double cycles_ = 0;
  double blocks_before_ = 0;
};

Index steps_in(const std::vector<BlockWork>& blocks) {
  Index steps = 0;
  for (const BlockWork& work : blocks) steps += work.steps;
  return steps;
}

}  // namespace

namespace {

LaunchBytes bytes_of(const LaunchReport& launch, const Bytes& dram) {
  return {static_cast<double>(launch.requested.read_bytes),
          static_cast<double>(launch.requested.write_bytes), static_cast<double>(dram.read_bytes),
          static_cast<double>(dram.write_bytes)};
}

/// The costs of a launch's steps.
struct BothCosts {
  StepCosts calibrated;  ///< or, without a calibration of such steps, those of the units
  StepCosts of_units;
};
BothCosts step_costs(const KernelCosts& costs, const MachineRates& rates, const StepsWork& work,
                     MatrixUnit unit, Index residency) {
  const auto of_units = [&](const MachineRates& of, Index blocks) {
    return unit_step_costs(of, work, unit, costs.warps, blocks);
  };
  BothCosts both{{}, of_units(rates, residency)};
  both.calibrated = costs.steps ? *costs.steps : both.of_units;
  if (!costs.steps || !costs.measured_rates) return both;
  const auto blocks = static_cast<Index>(costs.steps->cycles.size());
  both.calibrated =
      at_rates(*costs.steps, of_units(*costs.measured_rates, blocks), of_units(rates, blocks));
  return both;
}

/// The time of a launch that is not in the model's schedule. DRAM receives the bytes that do not
/// stay in L2.
LaunchTime time_of(const FurtherLaunch& launch, const GpuDescription& gpu,
                   const MachineRates& rates) {
  const Index most_dirty_bytes = gpu.l2_bytes * kMostDirtyWays / kL2Ways;
  const double dram_written =
      std::max(0.0, launch.written_bytes - static_cast<double>(most_dirty_bytes));
  return streaming_time({rates, gpu, {0, launch.written_bytes, 0, dram_written}, nullptr});
}

}  // namespace

Result<TimePrediction> predict_time(const SimulationReport& report, const GpuDescription& gpu,
                                    const MachineRates& rates, const KernelCosts& costs,
                                    const std::atomic<bool>* cancel) {
  if (!report.dram) return unavailable("the DRAM bytes of the pass are not predicted");
  const MatrixUnit unit = matrix_unit_of(costs, report.run.problem.dtype);
  const bool on_tensor_cores = unit != MatrixUnit::cuda_cores;
  TimePrediction prediction;
  double further_s = 0;  // of the steps, if predicted from the rates of the units alone
  PassTimes times(rates, prediction);
  for (const FurtherLaunch& launch : costs.further) {
    times.add(launch.name, time_of(launch, gpu, rates), rates.boost_clock_hz, launch.thread_blocks);
  }
  try {
    const std::vector<LaunchWork> work = work_of_pass(report, gpu, costs, cancel);
    for (std::size_t n = 0; n < report.launches.size(); ++n) {
      const LaunchReport& launch = report.launches[n];
      const LaunchSetting setting{rates, gpu, bytes_of(launch, report.dram->launches[n]), cancel};
      const Index steps = costs.has_library_products ? 0 : steps_in(work[n].blocks);
      if (steps > 0) {
        if (!costs.steps) prediction.uncalibrated = costs.uncalibrated;
        const StepsWork of_launch =
            steps_work(report, launch, gpu, costs.warps, steps * work[n].heads);
        const BothCosts of_steps = step_costs(costs, rates, of_launch, unit, costs.residency[n]);
        const SteppingLaunch stepping(setting, of_steps.calibrated, work[n]);
        LaunchTime time = stepping.time();
        further_s +=
            sum(SteppingLaunch(setting, of_steps.of_units, work[n]).time().parts) - sum(time.parts);
        const Index blocks = static_cast<Index>(work[n].blocks.size()) * work[n].heads;
        times.add(launch.name, std::move(time), stepping.clock_hz(), blocks);
      } else if (costs.has_library_products && launch.flops.matmul > 0) {
        const double flops_per_s = rates.matrix_flops_per_s(on_tensor_cores);
        const double compute_s = static_cast<double>(launch.flops.matmul) / flops_per_s;
        LaunchTime time = product_time(setting, compute_s);
        const double clock_hz = product_clock_hz(rates, time, on_tensor_cores ? compute_s : 0.0);
        times.add(launch.name, std::move(time), clock_hz, 0);
      } else {
        LaunchSetting streaming = setting;
        if (n < costs.thread_blocks.size()) {
          streaming.thread_blocks = costs.thread_blocks[n];
          streaming.residency = costs.residency[n];
        }
        times.add(launch.name, streaming_time(streaming), rates.boost_clock_hz,
                  streaming.thread_blocks);
      }
    }
  } catch (const Cancelled&) {
    return cancelled();
  }
  prediction.primitives_s = prediction.seconds + further_s;
  return prediction;
}

Result<PredictedSchedule> predict_schedule(const SimulationReport& report,
                                           const GpuDescription& gpu, const MachineRates& rates,
                                           const KernelCosts& costs, std::string_view launch,
                                           const std::atomic<bool>* cancel) {
  if (!report.dram) return unavailable("the DRAM bytes of the pass are not predicted");
  const auto found = std::ranges::find(report.launches, launch, &LaunchReport::name);
  if (found == report.launches.end()) return unavailable("the pass has no launch {}", launch);
  if (costs.has_library_products) {
    return unavailable("a library's kernels place their thread blocks themselves");
  }
  try {
    const auto n = static_cast<std::size_t>(found - report.launches.begin());
    const std::vector<LaunchWork> work = work_of_pass(report, gpu, costs, cancel);
    const Index steps = steps_in(work[n].blocks);
    if (steps == 0) {
      return unavailable("launch {} only moves bytes: its time is predicted as a whole", launch);
    }
    const LaunchSetting setting{rates, gpu, bytes_of(*found, report.dram->launches[n]), cancel};
    const StepsWork of_launch = steps_work(report, *found, gpu, costs.warps, steps * work[n].heads);
    const MatrixUnit unit = matrix_unit_of(costs, report.run.problem.dtype);
    const StepCosts of_steps =
        step_costs(costs, rates, of_launch, unit, costs.residency[n]).calibrated;
    return SteppingLaunch(setting, of_steps, work[n]).schedule(report.run.problem.heads);
  } catch (const Cancelled&) {
    return cancelled();
  }
}

}  // namespace attnscope
