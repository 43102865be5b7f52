/// The predicted time of a kernel's run: which steps it rests on, and how it changes with the
/// numbers of the GPU that a user changes.
#include "app/report/kernel_time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/report/kernel_dram.h"
#include "kernels/resolve.h"

namespace attnscope {
namespace {

using ::testing::HasSubstr;

class KernelTime : public testing::Test {
 protected:
  static SimulationReport predicted(RunSpec spec, const GpuDescription& gpu) {
    const auto tiling =
        kernels::own_tiling(spec.algorithm, spec.pass, spec.problem, program_target(gpu));
    if (!spec.tiling()) spec.set_tiling(tiling.value());
    SimulationReport report = resolve_and_simulate(spec, gpu).value();
    predict_kernel_dram(report, gpu);
    predict_kernel_time(report, gpu);
    return report;
  }
  static RunSpec spec_of(const std::string& algorithm, Index heads = 64) {
    RunSpec spec{.algorithm = algorithm};
    spec.problem = {.heads = heads, .kv_heads = heads, .N = 4096, .N_kv = 4096};
    return spec;
  }
  static double seconds(const RunSpec& spec, const GpuDescription& gpu) {
    return predicted(spec, gpu).time.value().seconds;
  }

  const GpuDescription gpu_ = load_gpu("h200").value();
};

TEST_F(KernelTime, RestsOnTheStepsOfTheKernelsTiles) {
  for (const char* name : {"h200", "h100-sxm"}) {
    const GpuDescription gpu = load_gpu(name).value();
    for (const char* algorithm : {"flash1", "flash2", "standard"}) {
      for (const PassKind pass : {PassKind::forward, PassKind::backward}) {
        RunSpec spec = spec_of(algorithm);
        spec.pass = pass;
        const SimulationReport report = predicted(spec, gpu);
        ASSERT_TRUE(report.time) << name << " " << algorithm;
        EXPECT_EQ(report.time->uncalibrated, "") << name << " " << algorithm;
        EXPECT_GT(report.time->seconds, report.bound_s) << name << " " << algorithm;
      }
    }
  }
}

TEST_F(KernelTime, IsAboveTheLowerBoundInAnyTiles) {
  struct Tiles {
    Index d;
    std::vector<Tiling> tilings;
  };
  const std::vector<Tiles> all = {{32, {{64, 64}, {64, 128}, {128, 64}, {128, 128}, {192, 128}}},
                                  {64, {{64, 64}, {64, 128}, {128, 64}, {128, 128}, {192, 128}}},
                                  {128, {{64, 64}, {64, 128}, {128, 64}, {128, 128}}},
                                  {256, {{64, 64}, {128, 64}}}};
  for (const auto& [d, tilings] : all) {
    for (const Tiling& tiling : tilings) {
      for (const Mask& mask : {Mask::none(), Mask::causal()}) {
        RunSpec spec = spec_of("flash2", 4);
        spec.problem.d = d;
        spec.problem.mask = mask;
        spec.set_tiling(tiling);
        const SimulationReport report = predicted(spec, gpu_);
        EXPECT_GT(report.time.value().seconds, report.bound_s)
            << d << " " << tiling.Br << "x" << tiling.Bc << " " << to_string(mask);
      }
    }
  }
}

TEST_F(KernelTime, SaysWhyStepsAreOnlyEstimated) {
  RunSpec windowed = spec_of("flash2");
  windowed.problem.mask = Mask::window(256, 0);
  EXPECT_THAT(predicted(windowed, gpu_).time->uncalibrated, HasSubstr("score features"));
  RunSpec padded = spec_of("flash2");
  padded.problem.d = 80;
  EXPECT_THAT(predicted(padded, gpu_).time->uncalibrated, HasSubstr("d = 80 is padded to 96"));
  RunSpec other_tiles = spec_of("flash2");
  other_tiles.set_tiling({48, 48});
  EXPECT_THAT(predicted(other_tiles, gpu_).time->uncalibrated,
              HasSubstr("flash2_forward_bf16_d64_48x48"));
}

TEST_F(KernelTime, OfTheForwardPassInHoppersInstructionsRestsOnItsOwnSteps) {
  RunSpec hopper = spec_of("flash2");
  hopper.problem.d = 128;
  hopper.set_tiling({128, 128});
  RunSpec mma = hopper;
  mma.switches["instructions"] = "mma";
  for (const GpuDescription& gpu : {gpu_, load_gpu("h100-sxm").value()}) {
    const auto of_hopper = predicted(hopper, gpu).time.value();
    const auto of_mma = predicted(mma, gpu).time.value();
    EXPECT_EQ(of_hopper.uncalibrated, "") << gpu.name;
    EXPECT_EQ(of_mma.uncalibrated, "") << gpu.name;
    EXPECT_LT(of_hopper.seconds, 0.8 * of_mma.seconds) << gpu.name;
  }
  mma.switches["stages"] = "1";
  EXPECT_THAT(predicted(mma, gpu_).time->uncalibrated, HasSubstr("steps with switches"));
}

TEST_F(KernelTime, KnowsHowTheKernelsBlocksFollowEachOther) {
  const Calibration calibration = *load_calibration("h200").value();
  const auto costs_of = [&](const std::string& algorithm, Index d, const Tiling& tiling) {
    RunSpec spec = spec_of(algorithm);
    spec.problem.d = d;
    spec.set_tiling(tiling);
    return kernel_costs(resolve_and_simulate(spec, gpu_).value(), gpu_, calibration);
  };
  const KernelCosts three = costs_of("flash2", 64, {192, 128});
  EXPECT_EQ(three.flow.consumers, 3);
  EXPECT_TRUE(three.flow.trims);
  EXPECT_TRUE(three.flow.reads_maps);
  EXPECT_FALSE(three.flow.reads_lists);
  EXPECT_GT(three.steps->one_consumer_cycles, three.steps->cycles.back() / 3);
  EXPECT_LT(three.steps->one_consumer_cycles, three.steps->cycles.back());
  EXPECT_EQ(three.flow.last_product_flops, 2.0 * 64 * 128 * 64);
  const KernelCosts four = costs_of("flash2", 64, {256, 64});
  EXPECT_EQ(four.flow.consumers, 4);
  EXPECT_GT(four.steps->one_consumer_cycles, four.steps->cycles.back() / 4);
  EXPECT_LT(four.steps->one_consumer_cycles, four.steps->cycles.back());

  // Consumers that take turns have the same tiles
  const KernelCosts two = costs_of("block_sparse2", 128, {128, 128});
  EXPECT_EQ(two.flow.consumers, 2);
  EXPECT_FALSE(two.flow.trims);
  EXPECT_EQ(two.steps->one_consumer_cycles, 0);
  EXPECT_TRUE(two.flow.reads_lists);

  // Oi is stored from the buffer of Qi
  EXPECT_EQ(costs_of("flash2", 256, {128, 80}).flow.last_product_flops, 0);
  const KernelCosts flash1 = costs_of("flash1", 64, {128, 128});
  EXPECT_FALSE(flash1.flow.reads_maps);
  // Each of a block's 256 threads sets 16 bytes of the 64 heads' O, 4,096 x 64 elements of 2 bytes
  EXPECT_EQ(flash1.further.front().thread_blocks, 64 * 128);
}

TEST_F(KernelTime, IsMissingWithoutACalibration) {
  EXPECT_FALSE(predicted(spec_of("flash2"), load_gpu("a100-40gb").value()).time);
}

TEST_F(KernelTime, FollowsChangedNumbersOfTheGpu) {
  GpuDescription slow_dram = gpu_;
  slow_dram.dram_bytes_per_s /= 4;
  EXPECT_GT(seconds(spec_of("standard"), slow_dram), 2 * seconds(spec_of("standard"), gpu_));
  EXPECT_LT(seconds(spec_of("flash2"), slow_dram), 1.1 * seconds(spec_of("flash2"), gpu_));

  GpuDescription half = gpu_;
  half.sm_count /= 2;
  const RunSpec many = spec_of("flash2", 512);
  EXPECT_NEAR(seconds(many, half) / seconds(many, gpu_), 2.0, 0.1);

  GpuDescription slow_clock = gpu_;
  slow_clock.boost_clock_hz /= 2;
  EXPECT_NEAR(seconds(many, slow_clock) / seconds(many, gpu_), 2.0, 0.05);
}

TEST_F(KernelTime, OfTilesThatNoKernelHasIsEstimated) {
  RunSpec spec{.algorithm = "split_kv"};
  spec.problem.N = 1;
  spec.problem.N_kv = 512;
  EXPECT_GT(seconds(spec, gpu_), 0.0);
}

TEST_F(KernelTime, AnswersToAWhatIf) {
  const RunSpec many = spec_of("flash2", 512);
  const double own = seconds(many, gpu_);
  const auto with = [&](const WhatIf& what_if) {
    return seconds(many, with_what_if(gpu_, what_if, "given"));
  };
  EXPECT_EQ(with({.exp_rate = 1.0}), own);
  EXPECT_NEAR(own / with({.sm_clock = 2.0}), 2.0, 0.05);
  EXPECT_NEAR(with({.sm_count = gpu_.sm_count / 2}) / own, 2.0, 0.1);
  // Steps whose products and exponentials both take time: one faster unit helps less than two
  const double both = with({.matrix_rate = 2.0, .exp_rate = 2.0});
  EXPECT_LT(both, 0.8 * own);
  EXPECT_LT(both, with({.matrix_rate = 2.0}));
  EXPECT_LT(both, with({.exp_rate = 2.0}));
  EXPECT_GT(with({.matrix_rate = 0.25}), 2 * own);
  const RunSpec standard = spec_of("standard");
  const GpuDescription slow_l2 = with_what_if(gpu_, {.l2_rate = 0.1}, "given");
  EXPECT_GT(seconds(standard, slow_l2), 2 * seconds(standard, gpu_));
}

}  // namespace
}  // namespace attnscope
