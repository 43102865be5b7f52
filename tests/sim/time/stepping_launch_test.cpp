/// Predicted times of launches whose blocks execute steps: their start, how one block follows
/// another, and their last steps.
#include "sim/time/stepping_launch.h"

#include <gtest/gtest.h>

#include "tests/sim/time/time_model_fixture.h"

namespace attnscope {
namespace {

using test::rates, test::TimeModel;

class Flow : public TimeModel {
 protected:
  static constexpr double kCycle = 1e-9, kBlocks = 8, kSteps = 8;
  /// Eight blocks of a head on each SM, each of eight steps.
  double seconds(const BlockFlow& flow) const {
    const KernelCosts costs{
        .steps = StepCosts{.cycles = {5000}, .clock_hz = 1e9}, .residency = {1}, .flow = flow};
    return predict_time(report_, gpu_, rates(), costs).value().seconds;
  }
  const SimulationReport report_ = modelled("flash2", PassKind::forward, 1024, 132);
};

TEST_F(Flow, OverlapOfTheSoftmaxCostsOneStepOfEachBlock) {
  EXPECT_NEAR(seconds({.overlaps_softmax = true}) - seconds({}), kBlocks * 5000 * kCycle, 1e-9);
}

TEST_F(Flow, APersistentBlockWaitsOnlyForTheNextQueries) {
  const double ahead = seconds({.loads_ahead = true});
  EXPECT_LT(ahead, seconds({}) - (kBlocks - 1) * rates().block_launch_cycles * kCycle);
  // A product as long as latency and bytes together hides both
  const double wait = rates().dram_latency_cycles + 128 * 64 * 2 / 100.0;
  const double flops = rates().matrix_flops_per_cycle * wait;
  const double hidden = seconds({.loads_ahead = true, .last_product_flops = flops});
  EXPECT_NEAR(ahead - hidden, (kBlocks - 1) * wait * kCycle, 1e-9);
  EXPECT_EQ(hidden, seconds({.loads_ahead = true, .last_product_flops = 2 * flops}));
}

TEST_F(Flow, StoresBesideTheNextBlockLeaveThoseOfTheLastBlock) {
  const double ahead = seconds({.loads_ahead = true});
  const double beside = seconds({.loads_ahead = true, .stores_beside_next = true});
  // 132 SMs write 1,000 bytes per cycle, O and LSE of 128 rows each
  const double stores = 132 * 128 * (2 * 64 + 4) / 1000.0;
  EXPECT_NEAR(ahead - beside, (kBlocks - 1) * stores * kCycle, 1e-9);
}

TEST_F(Flow, ListsAreReadBeforeTheFirstTileAndInEachStep) {
  const MachineRates of = rates();
  const double steps = kBlocks * kSteps * of.l1_latency_cycles;
  const double first = 2 * of.dram_latency_cycles;
  EXPECT_NEAR(seconds({.reads_lists = true}) - seconds({}),
              (first + (kBlocks - 1) * 2 * of.l2_latency_cycles + steps) * kCycle, 1e-9);
  // A persistent block reads the next list beside its steps
  EXPECT_NEAR(seconds({.loads_ahead = true, .reads_lists = true}) - seconds({.loads_ahead = true}),
              (first + steps) * kCycle, 1e-9);
}

TEST_F(Flow, TheFirstBulkCopyOfAnSmWaitsForItsMap) {
  EXPECT_NEAR(seconds({.reads_maps = true}) - seconds({}), rates().l2_latency_cycles * kCycle,
              1e-9);
}

/// The launch of single steps that a calibration times is too short to lower the clock.
TEST_F(TimeModel, StartingALaunchCostsWhatAFirstStepTakesAtTheClockOfLightWork) {
  const SimulationReport report = modelled("flash2", PassKind::forward, 1024, 1);
  const StepCosts plain{.cycles = {5000}, .clock_hz = 0.5e9};
  StepCosts started = plain;
  started.first_step_s = 20e-6;
  const double waits_s = 100 / 1e9 + (350 + 3 * 16384 / 100.0) / 0.5e9;
  EXPECT_NEAR(predicted(report, started).seconds - predicted(report, plain).seconds,
              20e-6 - 3e-6 - waits_s - 5000 / 1e9 - code_wait_s(), 1e-9);
}

/// A recorded kernel may hold fewer blocks than the calibrated one, whose launches are unchanged.
TEST_F(TimeModel, FewerResidentBlocksLeaveTheCostOfAStartUnchanged) {
  const SimulationReport report = modelled("flash2", PassKind::forward, 1024, 66);
  StepCosts costs{.cycles = {5000, 8000, 11000}, .clock_hz = 1e9};
  const auto start_s = [&](Index residency) {
    StepCosts started = costs;
    costs.residency = started.residency = residency;
    started.first_step_s = 20e-6;
    return predicted(report, started).seconds - predicted(report, costs).seconds;
  };
  EXPECT_NEAR(start_s(1), start_s(3), 1e-12);
  costs.residency = 1;
  const double one_s = predicted(report, costs).seconds;
  costs.residency = 3;
  EXPECT_NE(predicted(report, costs).seconds, one_s);
}

/// The start of a launch is interpolated between the two calibrated launches.
TEST_F(TimeModel, TheCostOfAStartLiesBetweenOneBlockOnEachSmAndAllThatFit) {
  const StepCosts full{.cycles = {5000, 5000, 5000}, .clock_hz = 1e9, .first_step_s = 20e-6};
  StepCosts both = full;
  both.lone_first_step_s = 14e-6;
  const auto earlier_s = [&](Index heads) {
    const SimulationReport report = modelled("flash2", PassKind::forward, 1024, heads);
    return predicted(report, full).seconds - predicted(report, both).seconds;
  };
  // In a launch that fills the SMs, the last of three blocks starts 2 x 100 cycles after the first
  const double whole = 20e-6 - 14e-6 - 200e-9;
  EXPECT_NEAR(earlier_s(1), whole, 1e-9);
  EXPECT_NEAR(earlier_s(33), whole / 2, 1e-9);
  EXPECT_NEAR(earlier_s(66), 0, 1e-9);
}

/// Tiles from DRAM arrive more slowly than they are used: the last step begins when the last ones
/// are there.
TEST_F(TimeModel, TheLastStepOfABlockWaitsForNoFurtherTiles) {
  const SimulationReport report = modelled("flash2", PassKind::forward, 1024, 16);
  const auto seconds = [&](double cycles) {
    return predicted(report, {.cycles = {cycles}, .clock_hz = 1e9}).seconds;
  };
  // A block on each of 128 SMs, with eight steps. While memory is slower than the steps, only the
  // last step's own cycles count
  EXPECT_NEAR(seconds(20) - seconds(10), 10e-9, 1e-12);
  EXPECT_NEAR(seconds(9000) - seconds(8000), 8 * 1000e-9, 1e-12);
}

/// Row tiles of three consumers: the last one starts in the middle of a column tile, so that its
/// first consumer sees one tile less.
TEST_F(TimeModel, AStepThatAConsumerLeavesOutCostsLess) {
  RunSpec spec{.algorithm = "flash2", .allow_overflow = true};
  spec.problem = {.N = 384, .N_kv = 384, .mask = Mask::causal()};
  spec.set_tiling({192, 128});
  SimulationReport report = resolve_and_simulate(spec, gpu_).value();
  report.dram = predict_dram(report.run, gpu_, {model_residency(report.run, gpu_), {}}).value();
  const auto seconds = [&](const BlockFlow& flow, double one_consumer_cycles) {
    const StepCosts steps{
        .cycles = {5000}, .one_consumer_cycles = one_consumer_cycles, .clock_hz = 1e9};
    return predict_time(report, gpu_, rates(), {.steps = steps, .residency = {1}, .flow = flow})
        .value()
        .seconds;
  };
  const BlockFlow trims{.consumers = 3, .trims = true};
  EXPECT_NEAR(seconds({.consumers = 3}, 2000) - seconds(trims, 2000), 1500e-9, 1e-12);
  EXPECT_EQ(seconds(trims, 0), seconds({.consumers = 3}, 0));
}

}  // namespace
}  // namespace attnscope
