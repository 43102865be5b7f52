/// The version of the time model, which is part of the keys of cached times.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "reference/fnv1a.h"
#include "sim/time/time_model.h"
#include "tests/support/model_request.h"

namespace attnscope {
namespace {

/// Rates of an invented GPU.
MachineRates uneven_rates() {
  MachineRates rates{.sm_count = 8};
  double value = 11;
  for (double MachineRates::*const rate :
       {&MachineRates::l1_latency_cycles, &MachineRates::l2_latency_cycles,
        &MachineRates::dram_latency_cycles, &MachineRates::block_launch_cycles,
        &MachineRates::barrier_cycles, &MachineRates::exponentials_per_cycle,
        &MachineRates::multiply_adds_per_cycle, &MachineRates::shared_bytes_per_cycle,
        &MachineRates::l2_read_one_sm_bytes_per_cycle, &MachineRates::sync_matrix_flops_per_cycle,
        &MachineRates::matrix_flops_per_cycle}) {
    rates.*rate = value *= 1.5;
  }
  value = 1.1e9;
  for (double MachineRates::*const rate :
       {&MachineRates::matrix_clock_hz, &MachineRates::boost_clock_hz,
        &MachineRates::dram_copy_bytes_per_s, &MachineRates::dram_write_bytes_per_s,
        &MachineRates::dram_read_bytes_per_s, &MachineRates::added_bytes_per_s,
        &MachineRates::l2_write_bytes_per_s, &MachineRates::l2_read_bytes_per_s}) {
    rates.*rate = value *= 1.25;
  }
  rates.launch_overhead_s = 3e-6;
  rates.launch_gap_s = 1e-6;
  return rates;
}

/// Costs of a kernel with and without calibrated steps.
std::vector<KernelCosts> two_kernel_costs(std::size_t launches, bool has_library_products) {
  const KernelCosts estimated{.residency = std::vector<Index>(launches, 2),
                              .has_library_products = has_library_products,
                              .further = {{"initialise", 0, 1e6}}};
  KernelCosts calibrated = estimated;
  calibrated.steps = StepCosts{.cycles = {3000, 5000},
                               .masked_cycles = 300,
                               .rescaled_cycles = 200,
                               .from_dram_cycles = 400,
                               .one_consumer_cycles = 2000,
                               .rows_of_warp = 16,
                               .clock_hz = 1.2e9,
                               .first_step_s = 9e-6};
  calibrated.order = {BlockOrder::Kind::descending};
  calibrated.flow = {.loads_ahead = true,
                     .stores_beside_next = true,
                     .overlaps_softmax = true,
                     .consumers = 2,
                     .trims = true,
                     .reads_maps = true,
                     .reads_lists = true};
  return {estimated, calibrated};
}

/// Predicted times of small runs, as a hash of ten digits each: most changes to the model change
/// it.
TEST(TimeModelVersion, ChangesWithThePredictedTimes) {
  Fnv1a hash;
  for (const Algorithm& algorithm : algorithms()) {
    for (const PassKind pass : {PassKind::forward, PassKind::backward}) {
      if (pass == PassKind::backward && !algorithm.has_backward) continue;
      test::ModelRequest request;
      request.algorithm = algorithm.name;
      request.pass = pass;
      request.problem = {.heads = 32, .kv_heads = 32, .N = 1024, .N_kv = 1024, .d = 64};
      request.problem.mask = Mask::causal();
      request.set_tiling({64, 64});
      if (algorithm.takes_block_mask) request.block_mask = BlockPattern{};
      request.gpu_description = load_gpu("h200").value();
      request.gpu_description.sm_count = 8;
      SimulationReport report = test::simulate(request).value();
      report.dram.emplace();
      for (const LaunchReport& launch : report.launches) {
        report.dram->launches.push_back(launch.compulsory);
      }
      const bool has_library_products = algorithm.name == "standard";
      for (const KernelCosts& costs :
           two_kernel_costs(report.launches.size(), has_library_products)) {
        const auto time =
            predict_time(report, request.gpu_description, uneven_rates(), costs).value();
        hash.add(fmt::format("{:.9e} {:.9e} ", time.primitives_s, time.clock_hz));
        for (const LaunchTime& launch : time.launches) {
          for (const double part : launch.parts) hash.add(fmt::format("{:.9e} ", part));
        }
      }
    }
  }
  EXPECT_EQ(hash_text(hash.value()), "8fba1f6318cb5125")
      << "predictions have changed: raise kTimeModelVersion, then correct this hash";
  EXPECT_EQ(kTimeModelVersion, 1U) << "correct the version with the hash";
}

}  // namespace
}  // namespace attnscope
