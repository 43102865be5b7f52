#include "sim/time/unit_steps.h"

#include <gtest/gtest.h>

namespace attnscope {
namespace {

/// Rates with which each unit executes one operation per cycle.
MachineRates unit_rates() {
  return {.sm_count = 1,
          .boost_clock_hz = 2e9,
          .matrix_clock_hz = 1e9,
          .added_bytes_per_s = 2e9,
          .matrix_flops_per_cycle = 2,
          .sync_matrix_flops_per_cycle = 1,
          .multiply_adds_per_cycle = 1,
          .exponentials_per_cycle = 1,
          .shared_bytes_per_cycle = 1};
}

std::vector<double> cycles_of(const StepsWork& work, Index warps, Index residency,
                              MatrixUnit unit = MatrixUnit::mma_sync) {
  return unit_step_costs(unit_rates(), work, unit, warps, residency).cycles;
}

TEST(UnitSteps, ABlockOfOneWarpPerPartOverlapsNothing) {
  const StepsWork work{.steps = 2,
                       .matrix_flops = 200,
                       .exponentials = 20,
                       .other_flops = 40,
                       .shared_bytes = 60,
                       .added_bytes = 80};
  EXPECT_DOUBLE_EQ(cycles_of(work, 4, 1).front(), 200);
}

/// With two equal units, n customers keep each busy for n / (n + 1) of the time.
TEST(UnitSteps, BlocksOverlapAsInAClosedNetworkOfQueues) {
  const StepsWork work{.steps = 1, .matrix_flops = 600, .exponentials = 600};
  const std::vector<double> cycles = cycles_of(work, 4, 3);
  EXPECT_DOUBLE_EQ(cycles[0], 1200);
  EXPECT_DOUBLE_EQ(cycles[1], 2 * 600 * 3.0 / 2);
  EXPECT_DOUBLE_EQ(cycles[2], 3 * 600 * 4.0 / 3);
  // Two warps of one block in each part of the SM overlap like two blocks, each with half of the
  // work
  EXPECT_DOUBLE_EQ(cycles_of(work, 8, 1).front(), 600 * 3.0 / 2);
}

TEST(UnitSteps, ManyBlocksAreAsFastAsTheBusiestUnit) {
  const StepsWork work{.steps = 1, .matrix_flops = 600, .exponentials = 300, .other_flops = 100};
  const std::vector<double> cycles = cycles_of(work, 4, 64);
  EXPECT_GE(cycles.back(), 64 * 600);
  EXPECT_LT(cycles.back(), 1.02 * 64 * 600);
}

TEST(UnitSteps, WgmmaReadsItsOperandsItself) {
  const StepsWork work{
      .steps = 1, .matrix_flops = 600, .shared_bytes = 500, .exchanged_bytes = 100};
  EXPECT_DOUBLE_EQ(cycles_of(work, 4, 1).front(), 1100);
  EXPECT_DOUBLE_EQ(cycles_of(work, 4, 1, MatrixUnit::wgmma).front(), 400);
  EXPECT_DOUBLE_EQ(cycles_of(work, 4, 1, MatrixUnit::cuda_cores).front(), 800);
}

TEST(UnitSteps, TheClockFallsWithTheUseOfTensorCores) {
  const auto clock = [](const StepsWork& work, MatrixUnit unit) {
    return unit_step_costs(unit_rates(), work, unit, 4, 1).clock_hz;
  };
  const StepsWork products{.steps = 1, .matrix_flops = 600};
  EXPECT_DOUBLE_EQ(clock(products, MatrixUnit::wgmma), 1e9);
  EXPECT_DOUBLE_EQ(clock(products, MatrixUnit::mma_sync), 1.5e9) << "half of wgmma's rate";
  EXPECT_DOUBLE_EQ(clock(products, MatrixUnit::cuda_cores), 2e9);
  EXPECT_DOUBLE_EQ(clock({.steps = 1, .exponentials = 600}, MatrixUnit::wgmma), 2e9);
}

}  // namespace
}  // namespace attnscope
