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
  rates.launch_gap_one_block_s = 0.7e-6;
  rates.launch_gap_full_grid_s = 1e-6;
  return rates;
}

/// Costs of a kernel without calibrated steps, with them, and with them on another GPU.
std::vector<KernelCosts> hashed_costs(std::size_t launches, bool has_library_products) {
  const KernelCosts estimated{.residency = std::vector<Index>(launches, 2),
                              .has_library_products = has_library_products,
                              .further = {{"initialise", 1e6, 3}}};
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
  KernelCosts what_if = calibrated;
  what_if.measured_rates = uneven_rates();
  what_if.measured_rates->exponentials_per_cycle *= 2;
  what_if.thread_blocks = std::vector<Index>(launches, 24);
  what_if.heads_at_once = 4;
  what_if.flow = {};
  what_if.steps->waits_for_column_tiles = true;
  what_if.warps = 8;
  what_if.has_wgmma_products = true;
  return {estimated, calibrated, what_if};
}

/// Problems that take different branches of the model.
std::vector<AttentionProblem> hashed_problems() {
  const AttentionProblem causal{
      .heads = 32, .kv_heads = 32, .N = 1024, .N_kv = 1024, .d = 64, .mask = Mask::causal()};
  const AttentionProblem fp32{
      .heads = 8, .kv_heads = 8, .N = 512, .N_kv = 512, .d = 64, .dtype = DType::fp32};
  AttentionProblem padded{.batch = 2, .heads = 8, .kv_heads = 8, .N = 512, .N_kv = 512, .d = 64};
  padded.key_lengths = {300, 512};
  return {causal, fp32, padded};
}

/// The report of a small run whose launches move their compulsory bytes to and from DRAM.
SimulationReport hashed_report(const test::ModelRequest& request) {
  SimulationReport report = test::simulate(request).value();
  report.dram.emplace();
  for (const LaunchReport& launch : report.launches) {
    report.dram->launches.push_back(launch.compulsory);
  }
  return report;
}

void add_digits(Fnv1a& hash, const TimePrediction& time) {
  hash.add(fmt::format("{:.9e} {:.9e} ", time.primitives_s, time.clock_hz));
  for (const LaunchTime& launch : time.launches) {
    for (const double part : launch.parts) hash.add(fmt::format("{:.9e} ", part));
  }
}

/// Predicted times of small runs, as a hash of ten digits each: most changes to the model change
/// it.
TEST(TimeModelVersion, ChangesWithThePredictedTimes) {
  Fnv1a hash;
  for (const Algorithm& algorithm : algorithms()) {
    for (const PassKind pass : {PassKind::forward, PassKind::backward}) {
      if (pass == PassKind::backward && !algorithm.has_backward) continue;
      for (const AttentionProblem& problem : hashed_problems()) {
        test::ModelRequest request;
        request.algorithm = algorithm.name;
        request.pass = pass;
        request.problem = problem;
        request.set_tiling({64, 64});
        if (algorithm.takes_block_mask) request.block_mask = BlockPattern{};
        request.gpu_description = load_gpu("h200").value();
        request.gpu_description.sm_count = 8;
        const SimulationReport report = hashed_report(request);
        for (const KernelCosts& costs :
             hashed_costs(report.launches.size(), algorithm.name == "standard")) {
          const auto& gpu = request.gpu_description;
          add_digits(hash, predict_time(report, gpu, uneven_rates(), costs).value());
        }
      }
    }
  }
  EXPECT_EQ(hash_text(hash.value()), "a1d2aaf808064140")
      << "predictions have changed: raise kTimeModelVersion, then correct this hash";
  EXPECT_EQ(kTimeModelVersion, 4U) << "correct the version with the hash";
}

}  // namespace
}  // namespace attnscope
