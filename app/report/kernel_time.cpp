#include "app/report/kernel_time.h"

#include <algorithm>
#include <cmath>

#include "app/report/kernel_dram.h"
#include "app/report/residency.h"
#include "app/report/time_cache.h"
#include "kernels/measure/calibrate/tile_steps.h"
#include "kernels/resolve.h"
#include "kernels/run_programs.h"

namespace attnscope {

namespace {

double value_of(const Calibration& calibration, const std::string& name) {
  const MeasuredQuantity* const quantity = calibration.find(name);
  return quantity == nullptr ? 0.0 : quantity->value;
}

constexpr Index kMostBlocksOnSm = 32;  // no GPU so far allows more

/// The measured cycles of a step: element k - 1 is for k blocks on an SM, 0 if not measured.
std::vector<double> measured_cycles(const Calibration& calibration, const std::string& steps) {
  std::vector<std::string> names;
  for (Index blocks = 1; blocks <= kMostBlocksOnSm; ++blocks) {
    names.push_back(kernels::step_cycles_name(steps, blocks));
  }
  std::vector<double> cycles(names.size());
  for (const MeasuredQuantity& quantity : calibration.quantities) {
    if (!quantity.is_available() || !quantity.name.starts_with(steps)) continue;
    const auto name = std::ranges::find(names, quantity.name);
    if (name == names.end()) continue;
    cycles[static_cast<std::size_t>(name - names.begin())] = quantity.value;
  }
  while (!cycles.empty() && cycles.back() == 0) cycles.pop_back();
  return cycles;
}

/// The cycles with those that were not measured interpolated linearly.
std::vector<double> filled_in(std::vector<double> cycles) {
  std::size_t before = 0;
  for (std::size_t k = 1; k < cycles.size(); ++k) {
    if (cycles[k] == 0) continue;
    const double slope = (cycles[k] - cycles[before]) / static_cast<double>(k - before);
    for (std::size_t n = before + 1; n < k; ++n) {
      cycles[n] = cycles[before] + slope * static_cast<double>(n - before);
    }
    before = k;
  }
  return cycles;
}

/// The description's SM clock divided by the clock in the GPU's shipped description.
double clock_ratio(const GpuDescription& gpu) {
  const auto shipped = load_gpu(gpu.name);
  return shipped ? gpu.boost_clock_hz / shipped.value().boost_clock_hz : 1.0;
}

/// The launch that sets initial values, of kernels whose O travels through HBM, with the bytes that
/// it moves. The one that computes LSE runs only if it is asked for; a forward pass that is
/// measured does not ask. `programs`: of the pass, empty if no kernel runs it.
std::vector<FurtherLaunch> further_launches(const ResolvedRun& run,
                                            const std::vector<kernels::LaunchProgram>& programs) {
  const auto kernel = kernels::choose_kernel(run.asked);
  if (!kernel || !kernel.value()->honours_carry) return {};
  const AttentionProblem& problem = run.problem;
  const auto rows = static_cast<double>(problem.batch * problem.heads * problem.N);
  const auto element = static_cast<double>(size_bytes(problem.dtype));
  constexpr double kStatistic = 4;
  const bool backward = run.pass() == PassKind::backward;
  const bool carries_fp32 = !backward && run.asked.variant.carry == Carry::fp32;
  const double carried = rows * static_cast<double>(problem.d) * (carries_fp32 ? 4 : element);
  const double statistics = backward ? 0 : rows * 2 * kStatistic;
  FurtherLaunch launch{"initialise", carried + statistics};
  const auto program = std::ranges::find(programs, launch.name, &kernels::LaunchProgram::launch);
  if (program != programs.end()) {
    constexpr double kBytesOfThread = 16;
    const double threads = carried / kBytesOfThread;
    launch.thread_blocks = static_cast<Index>(std::ceil(threads / program->block.threads));
  }
  return {std::move(launch)};
}

/// Sets the properties of the kernel that follow from its programs.
void set_programs(KernelCosts& costs, const ResolvedRun& run, const GpuDescription& gpu) {
  if (kernels::supports(run)) return;
  const kernels::ProgramTarget target = program_target(gpu);
  const auto programs = kernels::programs_of(run, target);
  costs.further = further_launches(run, programs);
  costs.has_wgmma_products = kernels::instructions_of(programs) == kernels::kHopper;
  costs.flow.reads_maps = costs.has_wgmma_products;
  costs.flow.reads_lists = kernels::kernel_of(run).takes_block_mask || run.problem.is_packed();
  if (const auto agents = kernels::agents_of(run, target)) {
    costs.flow.loads_ahead = agents->loads_ahead;
    costs.flow.stores_beside_next = agents->stores_beside_next;
    costs.flow.overlaps_softmax = agents->overlaps_softmax;
    const bool divides_rows = run.pass() == PassKind::forward && !run.problem.is_packed();
    if (divides_rows) costs.flow.consumers = agents->consumers;
    costs.flow.trims = agents->trims && costs.flow.consumers > 1;
    if (agents->stores_beside_next) {
      const Index rows = run.tiling.Br / agents->consumers;
      costs.flow.last_product_flops =
          2.0 * static_cast<double>(rows * run.tiling.Bc * run.problem.d);
    }
  }
  const kernels::LaunchProgram* const products = kernels::launch_with_products(programs);
  // Only the model has tiles with fewer rows than a warp
  if (products != nullptr && products->block.threads >= kWarpThreads) {
    costs.warps = products->block.threads / kWarpThreads;
  }
}

Result<StepCosts> step_costs(const ResolvedRun& run, const GpuDescription& gpu,
                             const Calibration& calibration, Index warps,
                             Index recorded_residency) {
  if (auto error = kernels::supports(run)) return *error;
  const kernels::ProgramTarget target = program_target(gpu);
  ATTNSCOPE_TRY(const auto steps, kernels::steps_name(run, target));
  std::vector<double> cycles = measured_cycles(calibration, steps);
  if (cycles.empty()) return unavailable("the calibration lacks the steps {}", steps);
  if (cycles.front() == 0 || value_of(calibration, kernels::step_clock_name(steps)) == 0 ||
      value_of(calibration, kernels::first_step_name(steps)) == 0) {
    return unavailable("the calibration has only some of the steps {}", steps);
  }
  // flash2's forward pass with Hopper's instructions has four additional warps that only load
  const bool has_servers =
      run.pass() == PassKind::forward &&
      kernels::instructions_of(kernels::programs_of(run, target)) == kernels::kHopper;
  using kernels::StepCost;
  const auto most = static_cast<Index>(cycles.size());
  const double plain = cycles.back();
  const auto further = [&](StepCost cost) {
    const double all = value_of(calibration, kernels::step_cycles_name(steps, most, cost));
    return all > plain ? all - plain : 0.0;
  };
  return StepCosts{
      .cycles = filled_in(std::move(cycles)),
      .residency = recorded_residency,
      .masked_cycles = further(StepCost::masked),
      .rescaled_cycles = further(StepCost::rescaled),
      .from_dram_cycles = further(StepCost::from_dram),
      .one_consumer_cycles =
          value_of(calibration, kernels::step_cycles_name(steps, most, StepCost::one_consumer)),
      .rows_of_warp = run.tiling.Br / (has_servers ? warps - 4 : warps),
      .waits_for_column_tiles =
          kernels::kernel_of(run).pass(run.pass()).block_work == kernels::BlockWork::head,
      .clock_hz = clock_ratio(gpu) * value_of(calibration, kernels::step_clock_name(steps)),
      .first_step_s = value_of(calibration, kernels::first_step_name(steps)),
      .lone_first_step_s = value_of(calibration, kernels::lone_first_step_name(steps))};
}

/// The rates, scaled if the description differs from the GPU's shipped description (a what-if).
MachineRates scaled(MachineRates rates, const GpuDescription& gpu) {
  const auto shipped = load_gpu(gpu.name);
  if (!shipped) return rates;
  const double dram = gpu.dram_bytes_per_s / shipped.value().dram_bytes_per_s;
  const double clock = clock_ratio(gpu);
  rates.dram_read_bytes_per_s *= dram;
  rates.dram_write_bytes_per_s *= dram;
  rates.dram_copy_bytes_per_s *= dram;
  rates.boost_clock_hz *= clock;
  rates.matrix_clock_hz *= clock;
  rates.exponentials_per_cycle *= gpu.exp_per_clock_per_sm / shipped.value().exp_per_clock_per_sm;
  const double matrix = gpu.what_if.matrix_rate.value_or(1.0);
  rates.matrix_flops_per_cycle *= matrix;
  rates.sync_matrix_flops_per_cycle *= matrix;
  const double l2 = gpu.what_if.l2_rate.value_or(1.0);
  rates.l2_read_bytes_per_s *= l2;
  rates.l2_write_bytes_per_s *= l2;
  rates.l2_read_one_sm_bytes_per_cycle *= l2;
  rates.sm_count = static_cast<double>(gpu.sm_count);
  return rates;
}

/// The thread blocks of each launch, where the kernel is recorded; else 0.
std::vector<Index> recorded_blocks(const SimulationReport& report,
                                   const std::vector<LaunchCounters>& launches) {
  std::vector<Index> blocks;
  for (const LaunchReport& launch : report.launches) {
    const LaunchShape* const kernel = recorded_kernel(launches, launch.name);
    const bool is_known = kernel != nullptr && kernel->resident_blocks > 0;
    blocks.push_back(is_known ? thread_blocks(*kernel) : 0);
  }
  return blocks;
}

}  // namespace

std::optional<MachineRates> calibrated_rates(const GpuDescription& gpu) {
  const auto calibration = load_calibration(gpu.name);
  if (!calibration || !calibration.value()) return std::nullopt;
  const auto rates = machine_rates(*calibration.value());
  return rates ? std::optional(scaled(rates.value(), gpu)) : std::nullopt;
}

KernelCosts kernel_costs(const SimulationReport& report, const GpuDescription& gpu,
                         const Calibration& calibration,
                         const std::vector<LaunchCounters>& launches) {
  ResolvedRun run = report.run;
  const auto kernel = kernels::choose_kernel(run.asked);
  KernelCosts costs{.residency = kernel_residency(report, gpu, launches),
                    .thread_blocks = recorded_blocks(report, launches),
                    .order = kernel_block_order(run),
                    .heads_at_once = kernel_heads_at_once(run, gpu),
                    .has_library_products = kernel && kernel.value()->forward.uses_cublas(),
                    .further = further_launches(run, {})};
  if (costs.has_library_products) return costs;
  if (kernel) {
    run.asked.kernel = kernel.value()->name;
    const std::string_view main_launch = kernel.value()->pass(run.pass()).launch;
    const bool is_recorded = std::ranges::any_of(launches, [&](const LaunchCounters& launch) {
      return launch.name == main_launch && !launch.kernels.empty();
    });
    const auto launch = std::ranges::find(report.launches, main_launch, &LaunchReport::name);
    const Index recorded =
        is_recorded && launch != report.launches.end()
            ? costs.residency[static_cast<std::size_t>(launch - report.launches.begin())]
            : 0;
    set_programs(costs, run, gpu);
    auto steps = step_costs(run, gpu, calibration, costs.warps, recorded);
    if (steps) {
      costs.steps = std::move(steps).value();
    } else {
      costs.uncalibrated = steps.error().message;
    }
  } else {
    costs.uncalibrated = kernel.error().message;
  }
  return costs;
}

namespace {

/// The run's kernel as the time model describes it, and its rates, from the calibration or a
/// what-if.
struct CalibratedKernel {
  MachineRates rates;
  KernelCosts costs;
};

std::optional<CalibratedKernel> calibrated_kernel(const SimulationReport& report,
                                                  const GpuDescription& gpu,
                                                  const std::vector<LaunchCounters>& launches) {
  const auto calibration = load_calibration(gpu.name);
  if (!calibration || !calibration.value()) return std::nullopt;
  const auto measured = machine_rates(*calibration.value());
  if (!measured) return std::nullopt;
  CalibratedKernel kernel{scaled(measured.value(), gpu),
                          kernel_costs(report, gpu, *calibration.value(), launches)};
  const MachineRates& own = kernel.rates;
  const bool other_units =
      own.exponentials_per_cycle != measured.value().exponentials_per_cycle ||
      own.sync_matrix_flops_per_cycle != measured.value().sync_matrix_flops_per_cycle;
  if (other_units) kernel.costs.measured_rates = measured.value();
  return kernel;
}

}  // namespace

void predict_kernel_time(SimulationReport& report, const GpuDescription& gpu,
                         const std::vector<LaunchCounters>& launches,
                         const std::atomic<bool>* cancel) {
  report.time.reset();
  const auto kernel = calibrated_kernel(report, gpu, launches);
  if (!kernel) return;
  const TimeCache cache;
  const std::string key = time_key(report, gpu, kernel->rates, kernel->costs);
  report.time = cache.find(key);
  if (report.time) return;
  auto prediction = predict_time(report, gpu, kernel->rates, kernel->costs, cancel);
  if (!prediction) return;
  cache.keep(key, prediction.value());
  report.time = std::move(prediction).value();
}

Result<PredictedSchedule> predict_kernel_schedule(const SimulationReport& report,
                                                  const GpuDescription& gpu,
                                                  std::string_view launch,
                                                  const std::atomic<bool>* cancel) {
  const auto kernel = calibrated_kernel(report, gpu, {});
  if (!kernel) return unavailable("the GPU is not calibrated");
  return predict_schedule(report, gpu, kernel->rates, kernel->costs, launch, cancel);
}

}  // namespace attnscope
