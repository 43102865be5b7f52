/// Predicted times of whole passes, on an invented GPU whose rates are round numbers.
#include "sim/time/time_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/time/block_work.h"
#include "tests/sim/time/time_model_fixture.h"

namespace attnscope {
namespace {

using test::rates, test::TimeModel;
using ::testing::HasSubstr;

TEST_F(TimeModel, TheScheduleOfALaunchIsTheOneThatItsTimeComesFrom) {
  const SimulationReport report = modelled("flash2", PassKind::forward, 1024, 40, Mask::causal());
  const KernelCosts costs{.steps = StepCosts{.cycles = {5000, 8000}, .clock_hz = 0.5e9},
                          .residency = model_residency(report.run, gpu_),
                          .order = {BlockOrder::Kind::descending}};
  const TimePrediction time = predict_time(report, gpu_, rates(), costs).value();
  const PredictedSchedule schedule =
      predict_schedule(report, gpu_, rates(), costs, "forward").value();
  EXPECT_NEAR(schedule.seconds + 3e-6, time.seconds, 1e-12);
  ASSERT_EQ(schedule.blocks.size(), 8U * 40U);
  EXPECT_EQ(schedule.slots, 2);
  // In the kernel's order, the last row tile of the first head comes first: it has the most steps
  const PredictedBlock& first = schedule.blocks.front();
  EXPECT_EQ(first.id.block, 7);
  EXPECT_EQ(first.id.head, 0);
  EXPECT_EQ(schedule.blocks.back().id.head, 39);
  EXPECT_EQ(schedule.blocks.back().id.block, 0);
  double end = 0;
  for (const PredictedBlock& block : schedule.blocks) end = std::max(end, block.end_s);
  EXPECT_DOUBLE_EQ(end, schedule.seconds);
}

TEST_F(TimeModel, ALaunchWithoutStepsHasNoSchedule) {
  const SimulationReport standard = modelled("standard", PassKind::forward, 1024, 1);
  const KernelCosts library{.residency = model_residency(standard.run, gpu_),
                            .has_library_products = true};
  const auto products = predict_schedule(standard, gpu_, rates(), library, "scores");
  ASSERT_FALSE(products.ok());
  EXPECT_THAT(products.error().message, HasSubstr("a library's kernels"));
  const SimulationReport backward = modelled("flash2", PassKind::backward, 1024, 1);
  const KernelCosts costs{.residency = model_residency(backward.run, gpu_)};
  const auto moves =
      predict_schedule(backward, gpu_, rates(), costs, backward.launches.front().name);
  ASSERT_FALSE(moves.ok());
  EXPECT_THAT(moves.error().message, HasSubstr("only moves bytes"));
  EXPECT_FALSE(predict_schedule(backward, gpu_, rates(), costs, "no such launch").ok());
}

/// Under a causal mask, only short blocks are left at the end if the longest blocks of all heads
/// start first; if heads follow each other, blocks of every length are left.
TEST_F(TimeModel, LongestBlocksOfAllHeadsFirstEndSooner) {
  const SimulationReport report = modelled("flash2", PassKind::forward, 1024, 264, Mask::causal());
  const auto seconds = [&](Index heads_at_once) {
    KernelCosts costs{.steps = StepCosts{.cycles = {5000}, .clock_hz = 1e9},
                      .residency = model_residency(report.run, gpu_),
                      .order = {BlockOrder::Kind::descending},
                      .heads_at_once = heads_at_once};
    return predict_time(report, gpu_, rates(), costs).value().seconds;
  };
  EXPECT_LT(seconds(264), 0.98 * seconds(1));
}

TEST_F(TimeModel, AOneWaveLaunchTakesItsStepsAndWaits) {
  const SimulationReport report = modelled("flash2", PassKind::forward, 1024, 1);
  const TimePrediction prediction = predicted(report, {.cycles = {5000}, .clock_hz = 0.5e9});
  ASSERT_EQ(prediction.launches.size(), 1U);
  const LaunchTime& forward = prediction.launches[0];
  const double clock_hz = 0.5e9;  // the clock of the steps, however few SMs are busy
  EXPECT_NEAR(prediction.clock_hz, clock_hz, 1);
  EXPECT_NEAR(part(forward, TimePart::steps), 8 * 8 * 5000 / clock_hz / 132, 1e-12);
  EXPECT_DOUBLE_EQ(part(forward, TimePart::overhead), 3e-6);
  // Launch, the latency, which takes half as many cycles at half the clock, Q, K and V at 100 bytes
  // per cycle; O and LSE at 100
  const double waits = 100 + 350 + 3 * 16384 / 100.0 + (16384 + 512) / 100.0;
  EXPECT_NEAR(forward.seconds, 3e-6 + code_wait_s() + (8 * 5000 + waits) / clock_hz, 1e-9);
  EXPECT_EQ(prediction.uncalibrated, "");
}

TEST_F(TimeModel, PartsAddUpToTheTime) {
  for (const auto& [algorithm, pass] : {std::pair{"flash2", PassKind::forward},
                                        {"flash2", PassKind::backward},
                                        {"flash1", PassKind::forward},
                                        {"standard", PassKind::forward}}) {
    const SimulationReport report = modelled(algorithm, pass, 2048, 32, Mask::causal());
    const TimePrediction prediction =
        predict_time(report, gpu_, rates(),
                     {.residency = model_residency(report.run, gpu_),
                      .has_library_products = std::string_view(algorithm) == "standard"})
            .value();
    EXPECT_EQ(prediction.launches.size(), report.launches.size()) << algorithm;
    double sum = 0, launches = 0;
    for (const double seconds : prediction.parts()) {
      EXPECT_GE(seconds, 0);
      sum += seconds;
    }
    for (const LaunchTime& launch : prediction.launches) launches += launch.seconds;
    EXPECT_NEAR(sum, prediction.seconds, 1e-9 * sum) << algorithm;
    EXPECT_NEAR(launches, prediction.seconds, 1e-9 * sum) << algorithm;
    // No unit works faster than its peak: the invented one is about as fast as the described one
    EXPECT_GT(prediction.seconds, 0.2 * report.bound_s) << algorithm;
  }
}

TEST_F(TimeModel, TheGapBetweenLaunchesGrowsWithTheirBlocks) {
  MachineRates of = rates();
  of.launch_gap_one_block_s = 1e-6;
  of.launch_gap_full_grid_s = 3e-6;
  EXPECT_DOUBLE_EQ(of.launch_gap_before(1), 1e-6);
  EXPECT_DOUBLE_EQ(of.launch_gap_before(66.5), 2e-6);
  EXPECT_DOUBLE_EQ(of.launch_gap_before(1e6), 3e-6);
  // The larger one of the two launches counts; an unknown number fills the GPU
  const SimulationReport report = modelled("flash2", PassKind::forward, 128, 1);
  const auto gap_s = [&](Index blocks) {
    const KernelCosts costs{.steps = StepCosts{.cycles = {5000}, .clock_hz = 1e9},
                            .residency = {1},
                            .further = {{"initialise", 16, blocks}}};
    return part(predict_time(report, gpu_, of, costs).value().launches.back(), TimePart::overhead);
  };
  EXPECT_DOUBLE_EQ(gap_s(1), 1e-6);
  EXPECT_DOUBLE_EQ(gap_s(132), 3e-6);
  EXPECT_DOUBLE_EQ(gap_s(0), 3e-6);
}

TEST_F(TimeModel, MaskedAndRescaledStepsCostMore) {
  const SimulationReport report = modelled("flash2", PassKind::forward, 4096, 256, Mask::causal());
  const StepCosts plain{.cycles = {5000, 8000}, .rows_of_warp = 32, .clock_hz = 1e9};
  StepCosts masked = plain, rescaled = plain;
  masked.masked_cycles = 1000;
  rescaled.rescaled_cycles = 1000;
  const double plain_s = predicted(report, plain).seconds;
  // One of up to 32 steps of a row tile is masked; maxima change in most steps
  EXPECT_GT(predicted(report, masked).seconds, 1.005 * plain_s);
  EXPECT_LT(predicted(report, masked).seconds, 1.03 * plain_s);
  EXPECT_GT(predicted(report, rescaled).seconds, 1.05 * plain_s);
  EXPECT_LT(predicted(report, rescaled).seconds, 1.13 * plain_s);
}

TEST_F(TimeModel, EstimatedStepsAreNoFasterThanTheirBytes) {
  const SimulationReport report = modelled("flash2", PassKind::forward, 8192, 32);
  // Every step reads 32 KiB; 132 SMs share at most 2,000 bytes per cycle
  StepCosts costs{.cycles = {1}, .clock_hz = 1e9, .are_calibrated = false};
  const TimePrediction estimated = predicted(report, costs);
  const double steps = 64.0 * 64 * 32, bytes = steps * 32 * 1024;
  EXPECT_GT(estimated.seconds, bytes / 2000e9);
  EXPECT_LT(estimated.seconds, 1.2 * bytes / 1000e9);
  EXPECT_GT(part(estimated.launches[0], TimePart::l2), 0.9 * estimated.seconds);
  // Calibrated cycles include the time of L2; only bytes that miss it may cost more
  costs.are_calibrated = true;
  EXPECT_LT(predicted(report, costs).seconds, 0.2 * estimated.seconds);
}

TEST_F(TimeModel, ProductsOfALibraryAreNoFasterThanTheirUnits) {
  for (const DType dtype : {DType::bf16, DType::fp32}) {
    RunSpec spec{.algorithm = "standard"};
    spec.problem = {.heads = 32, .kv_heads = 32, .N = 4096, .N_kv = 4096, .d = 128, .dtype = dtype};
    SimulationReport report = resolve_and_simulate(spec, gpu_).value();
    report.dram = predict_dram(report.run, gpu_, {model_residency(report.run, gpu_), {}}).value();
    const double s =
        predict_time(report, gpu_, rates(), {.has_library_products = true}).value().seconds;
    const double flops_per_cycle = dtype == DType::fp32 ? 2 * 128 : 4096;
    EXPECT_GT(s, static_cast<double>(report.matmul_flops) / (132 * flops_per_cycle * 1e9));
  }
}

/// The softmax between standard's products: blocks that have an SM to themselves add their waits to
/// the time of their bytes; with enough blocks on an SM, the bytes alone take the time.
TEST_F(TimeModel, BlocksAloneOnTheirSmWaitBeforeAndAfterTheirBytes) {
  const SimulationReport report = modelled("standard", PassKind::forward, 4096, 16);
  ASSERT_EQ(report.launches[1].name, "softmax");
  const auto softmax = [&](Index blocks, Index residency) {
    KernelCosts costs{.residency = {1, residency, 1},
                      .thread_blocks = {0, blocks, 0},
                      .has_library_products = true};
    const TimePrediction time = predict_time(report, gpu_, rates(), costs).value();
    return time.launches[1].parts;
  };
  constexpr Index kBlocks = 132 * 1000;
  const MachineRates of_gpu = rates();
  const double block_waits_s =
      (of_gpu.block_launch_cycles + 2 * of_gpu.dram_latency_cycles) / of_gpu.boost_clock_hz;
  const PartSeconds alone = softmax(kBlocks, 1);
  EXPECT_NEAR(of(alone, TimePart::waiting), 1000 * block_waits_s + code_wait_s(), 1e-9);
  for (const PartSeconds& together : {softmax(kBlocks, 16), softmax(0, 1)}) {
    EXPECT_NEAR(of(together, TimePart::waiting), block_waits_s + code_wait_s(), 1e-12);
    EXPECT_EQ(of(together, TimePart::dram), of(alone, TimePart::dram));
  }
}

/// At half the clock, steps and idle SMs take twice as long, DRAM and the waits for it do not.
TEST_F(TimeModel, OnlyTheTimeOfTheSmsDependsOnTheirClock) {
  const TimePrediction prediction = {
      .seconds = 6, .clock_hz = 2e9, .launches = {{"forward", 6, {1, 1, 1, 1, 1, 1}}}};
  EXPECT_DOUBLE_EQ(prediction.seconds_at(2e9), 6);
  EXPECT_DOUBLE_EQ(prediction.seconds_at(1e9), 8);
}

TEST_F(TimeModel, EveryBatchEntryCountsWithItsOwnKeys) {
  const auto seconds = [&](std::vector<Index> key_lengths) {
    RunSpec spec{.algorithm = "flash2"};
    spec.problem = {.batch = 2, .heads = 16, .kv_heads = 16, .N = 4096, .N_kv = 4096};
    spec.problem.key_lengths = std::move(key_lengths);
    spec.set_tiling({128, 128});
    SimulationReport report = resolve_and_simulate(spec, gpu_).value();
    report.dram = predict_dram(report.run, gpu_, {model_residency(report.run, gpu_), {}}).value();
    return predicted(report, {.cycles = {5000, 8000}, .clock_hz = 1e9}).seconds;
  };
  const double both = seconds({4096, 4096});
  EXPECT_NEAR(seconds({4096, 0}), 0.5 * both, 0.1 * both);
  EXPECT_NEAR(seconds({0, 4096}), 0.5 * both, 0.1 * both);
}

TEST_F(TimeModel, TilesFromDramCostMoreWhereL2Misses) {
  const SimulationReport report = modelled("flash1", PassKind::forward, 1024, 512);
  ASSERT_GT(report.dram->total.read_bytes, report.requested.read_bytes / 2);
  StepCosts costs{.cycles = {20000}, .waits_for_column_tiles = true, .clock_hz = 1e9};
  const double in_l2_s = predicted(report, costs).seconds;
  costs.from_dram_cycles = 10000;
  EXPECT_GT(predicted(report, costs).seconds, 1.2 * in_l2_s);
}

TEST_F(TimeModel, WithoutCalibratedStepsTheUnitsRatesStandIn) {
  const SimulationReport report = modelled("flash2", PassKind::forward, 8192, 32);
  KernelCosts costs{.uncalibrated = "no reason", .residency = {2}};
  const TimePrediction two = predict_time(report, gpu_, rates(), costs).value();
  EXPECT_EQ(two.uncalibrated, "no reason");
  costs.residency = {1};
  // Blocks that share an SM overlap products and exponentials
  EXPECT_GT(predict_time(report, gpu_, rates(), costs).value().seconds, 1.2 * two.seconds);
  const double matrix_s = static_cast<double>(report.matmul_flops) / (132 * 2048 * 1e9);
  EXPECT_GT(two.seconds, matrix_s);
}

TEST_F(TimeModel, ALaunchThatOnlyTheKernelHasComesFirst) {
  const SimulationReport report = modelled("flash2", PassKind::forward, 1024, 8);
  MachineRates of = rates();
  of.l2_write_bytes_per_s = 4 * of.dram_write_bytes_per_s;
  const auto predicted_with = [&](double written_bytes) {
    return predict_time(report, gpu_, of,
                        {.steps = StepCosts{.cycles = {5000}, .clock_hz = 1e9},
                         .residency = model_residency(report.run, gpu_),
                         .further = {{"initialise", written_bytes}}})
        .value();
  };
  const TimePrediction prediction = predicted_with(4e9);
  ASSERT_EQ(prediction.launches.size(), 2U);
  EXPECT_EQ(prediction.launches[0].name, "initialise");
  // Half of L2 may be dirty when the launch ends
  const double kept = static_cast<double>(gpu_.l2_bytes) / 2;
  EXPECT_DOUBLE_EQ(part(prediction.launches[0], TimePart::dram),
                   (4e9 - kept) / of.dram_write_bytes_per_s);
  EXPECT_DOUBLE_EQ(part(prediction.launches[1], TimePart::overhead), 1e-6);
  EXPECT_EQ(part(predicted_with(kept).launches[0], TimePart::dram), 0);
}

TEST_F(TimeModel, NeedsThePredictedBytesAndStopsOnRequest) {
  SimulationReport report = modelled("flash2", PassKind::forward, 1024, 1);
  const std::atomic<bool> cancel = true;
  EXPECT_EQ(predict_time(report, gpu_, rates(), {}, &cancel).error().code, ErrorCode::cancelled);
  report.dram.reset();
  EXPECT_THAT(predict_time(report, gpu_, rates(), {}).error().message, HasSubstr("DRAM bytes"));
}

TEST(MachineRates, AreThoseOfACalibrationOrItsFirstGap) {
  const Calibration shipped = *load_calibration("h200").value();
  const MachineRates measured = machine_rates(shipped).value();
  EXPECT_EQ(measured.sm_count, 132);
  EXPECT_EQ(measured.dram_latency_cycles, shipped.find("dram_latency_cycles")->value);
  EXPECT_GT(measured.matrix_flops_per_cycle, measured.sync_matrix_flops_per_cycle);
  Calibration without = shipped;
  std::erase_if(without.quantities,
                [](const MeasuredQuantity& each) { return each.name == "dram_latency_cycles"; });
  EXPECT_THAT(machine_rates(without).error().message, HasSubstr("lacks dram_latency_cycles"));
}

TEST(MachineRates, CopiesAreSlowerThanReads) {
  const MachineRates invented = rates();
  EXPECT_DOUBLE_EQ(invented.dram_seconds(1e12, 0), 1.0);
  EXPECT_DOUBLE_EQ(invented.dram_seconds(0, 1e12), 1.0);
  EXPECT_DOUBLE_EQ(invented.dram_seconds(1e12, 1e12), 2.5);
  EXPECT_DOUBLE_EQ(invented.dram_seconds(3e12, 1e12), 4.5);
}

}  // namespace
}  // namespace attnscope
