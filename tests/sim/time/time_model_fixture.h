/// Modelled passes on an invented GPU whose rates are round numbers, and their predicted times.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "sim/dram/dram_model.h"
#include "sim/residency.h"
#include "sim/time/time_model.h"

namespace attnscope::test {

/// Rates with which an SM moves at most 100 bytes per cycle, and all SMs together 1,000.
inline MachineRates rates() {
  constexpr double kHz = 1e9;
  return {.sm_count = 132,
          .boost_clock_hz = kHz,
          .matrix_clock_hz = kHz,
          .dram_read_bytes_per_s = 1000 * kHz,
          .dram_write_bytes_per_s = 1000 * kHz,
          .dram_copy_bytes_per_s = 800 * kHz,
          .l2_read_bytes_per_s = 2000 * kHz,
          .l2_write_bytes_per_s = 1000 * kHz,
          .added_bytes_per_s = 1000 * kHz,
          .l2_read_one_sm_bytes_per_cycle = 100,
          .l1_latency_cycles = 30,
          .l2_latency_cycles = 300,
          .dram_latency_cycles = 700,
          .block_launch_cycles = 100,
          .launch_overhead_s = 3e-6,
          .launch_gap_one_block_s = 1e-6,
          .launch_gap_full_grid_s = 1e-6,
          .matrix_flops_per_cycle = 4096,
          .sync_matrix_flops_per_cycle = 2048,
          .multiply_adds_per_cycle = 128,
          .exponentials_per_cycle = 16,
          .shared_bytes_per_cycle = 128,
          .barrier_cycles = 20};
}

class TimeModel : public testing::Test {
 protected:
  SimulationReport modelled(const std::string& algorithm, PassKind pass, Index N, Index heads,
                            Mask mask = Mask::none()) const {
    RunSpec spec{.algorithm = algorithm, .pass = pass, .allow_overflow = true};
    spec.problem.N = spec.problem.N_kv = N;
    spec.problem.heads = spec.problem.kv_heads = heads;
    spec.problem.mask = mask;
    if (algorithm != "standard") spec.set_tiling({128, 128});
    SimulationReport report = resolve_and_simulate(spec, gpu_).value();
    report.dram = predict_dram(report.run, gpu_, {model_residency(report.run, gpu_), {}}).value();
    return report;
  }
  TimePrediction predicted(const SimulationReport& report, StepCosts steps) const {
    return predict_time(report, gpu_, rates(),
                        {.steps = std::move(steps),
                         .residency = model_residency(report.run, gpu_),
                         .order = {BlockOrder::Kind::descending}})
        .value();
  }
  /// One latency of DRAM, for the code of a launch whose start was not measured.
  static double code_wait_s() { return 700e-9; }
  static double part(const LaunchTime& launch, TimePart part) {
    return launch.parts[static_cast<std::size_t>(part)];
  }

  const GpuDescription gpu_ = load_gpu("h200").value();
};

}  // namespace attnscope::test
