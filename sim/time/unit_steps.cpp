#include "sim/time/unit_steps.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace attnscope {

namespace {

constexpr std::size_t kUnits = 5;
using Demands = std::array<double, kUnits>;  ///< cycles that a customer needs on each unit

/// Cycles between two departures from the network, with `customers` in it.
double cycles_between(const Demands& demands, Index customers) {
  Demands queues{};
  double cycles = 0;
  for (Index n = 1; n <= customers; ++n) {
    Demands stays{};
    for (std::size_t unit = 0; unit < kUnits; ++unit) {
      stays[unit] = demands[unit] * (1.0 + queues[unit]);
    }
    cycles = std::accumulate(stays.begin(), stays.end(), 0.0) / static_cast<double>(n);
    for (std::size_t unit = 0; unit < kUnits; ++unit) queues[unit] = stays[unit] / cycles;
  }
  return cycles;
}

double flops_per_cycle(const MachineRates& rates, MatrixUnit unit) {
  switch (unit) {
    case MatrixUnit::cuda_cores:
      break;
    case MatrixUnit::mma_sync:
      return rates.sync_matrix_flops_per_cycle;
    case MatrixUnit::wgmma:
      return rates.matrix_flops_per_cycle;
  }
  return 2 * rates.multiply_adds_per_cycle;
}

}  // namespace

StepsWork steps_work(const SimulationReport& report, const LaunchReport& launch,
                     const GpuDescription& gpu, Index warps, Index steps) {
  StepsWork work{.steps = static_cast<double>(steps),
                 .matrix_flops = static_cast<double>(launch.flops.matmul),
                 .exponentials = static_cast<double>(launch.flops.exponentials),
                 .other_flops = static_cast<double>(launch.flops.cuda_core()),
                 .added_bytes = static_cast<double>(launch.requested.atomic_bytes)};
  ResolvedRun run = report.run;
  run.asked.warps = warps;
  const auto counted = count_warps(run, gpu);
  if (!counted || !counted.value()) return work;
  const WarpTraffic& traffic = counted.value()->traffic;
  work.shared_bytes = static_cast<double>(traffic.shared_read_bytes + traffic.shared_write_bytes);
  work.exchanged_bytes =
      static_cast<double>(traffic.exchange_read_bytes + traffic.exchange_write_bytes);
  return work;
}

StepCosts unit_step_costs(const MachineRates& rates, const StepsWork& work, MatrixUnit unit,
                          Index warps, Index residency) {
  constexpr Index kPartsOfSm = 4;
  // wgmma reads its operands directly from shared memory
  const double shared_bytes = unit == MatrixUnit::wgmma ? work.exchanged_bytes : work.shared_bytes;
  const Demands of_step{work.matrix_flops / work.steps / flops_per_cycle(rates, unit),
                        work.exponentials / work.steps / rates.exponentials_per_cycle,
                        work.other_flops / work.steps / rates.multiply_adds_per_cycle,
                        shared_bytes / work.steps / rates.shared_bytes_per_cycle,
                        work.added_bytes / work.steps * rates.sm_count * rates.boost_clock_hz /
                            rates.added_bytes_per_s};
  const Index warps_of_part = std::max<Index>(warps / kPartsOfSm, 1);
  Demands of_warp = of_step;
  for (double& demand : of_warp) demand /= static_cast<double>(warps_of_part);

  StepCosts costs{.are_calibrated = false};
  for (Index blocks = 1; blocks <= residency; ++blocks) {
    const Index customers = blocks * warps_of_part;
    const double cycles = cycles_between(of_warp, customers) * static_cast<double>(customers);
    costs.cycles.push_back(cycles + rates.barrier_cycles);
  }
  // Tensor cores at their full rate lower the clock to that of such loops; idle time raises it
  const double flops_per_step = unit == MatrixUnit::cuda_cores ? 0 : work.matrix_flops / work.steps;
  const double share = static_cast<double>(residency) * flops_per_step / costs.cycles.back() /
                       rates.matrix_flops_per_cycle;
  costs.clock_hz =
      rates.boost_clock_hz + std::min(1.0, share) * (rates.matrix_clock_hz - rates.boost_clock_hz);
  return costs;
}

}  // namespace attnscope
