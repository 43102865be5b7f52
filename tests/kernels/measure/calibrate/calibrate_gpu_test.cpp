/// The microbenchmarks on a GPU: every quantity has a physically possible value.
#include <gmock/gmock.h>

#include <cmath>

#include "kernels/measure/calibrate/calibrate.h"
#include "kernels/measure/calibrate/operation_benchmarks.h"
#include "sim/device/gpu_description.h"
#include "tests/kernels/measure/gpu_session.h"

namespace attnscope::kernels {
namespace {

/// One calibration, shared by all tests.
class CalibrateTest : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure() || calibration_) return;
    on_gpu([&] { calibration_ = calibrate(session(), {.repeats = 9}); });
    for (const MeasuredQuantity& quantity : *calibration_) {
      std::printf("%-55s %12.6g %s (%.6g to %.6g)\n", quantity.name.c_str(), quantity.value,
                  quantity.unit.c_str(), quantity.min, quantity.max);
    }
  }

  /// The calibrated value of this name; fails the test if it is missing.
  static double value(std::string_view name) {
    for (const MeasuredQuantity& quantity : *calibration_) {
      if (quantity.name == name && quantity.is_available()) return quantity.value;
    }
    ADD_FAILURE() << "no " << name;
    return NAN;
  }
  static void expect_between(double low, std::string_view name, double high) {
    const double measured = value(name);
    EXPECT_TRUE(low <= measured && measured <= high)
        << name << " is " << measured << ", not from " << low << " to " << high;
  }

  static inline std::optional<std::vector<MeasuredQuantity>> calibration_;
};

TEST_F(CalibrateTest, EveryQuantityIsPositive) {
  const double capability = std::stod(session().device().compute_capability);
  for (const MeasuredQuantity& quantity : *calibration_) {
    const std::string& name = quantity.name;
    const bool may_lack = (name.starts_with("wgmma_") && capability != 9.0) ||
                          (capability < 9.0 &&
                           (name.starts_with("red_add_v") || name == "launch_gap_programmatic_s"));
    EXPECT_NE(quantity.is_available(), may_lack) << name << ": " << quantity.unavailable;
    if (!quantity.is_available()) continue;
    EXPECT_TRUE(quantity.min > 0 && quantity.min <= quantity.value &&
                quantity.value <= quantity.max && std::isfinite(quantity.max))
        << name;
    EXPECT_GE(quantity.n, name.ends_with("_sm_clock_hz") ? 3 : 9) << name;
  }
  for (const OperationBenchmark& benchmark : operation_benchmarks(session().target())) {
    if (!benchmark.unavailable.empty()) continue;
    EXPECT_GT(value(benchmark.name), 0.0);
  }
}

TEST_F(CalibrateTest, L2IsFasterThanDramAndNoLargerThanItself) {
  const double l2 = value("l2_read_bytes_per_s");
  EXPECT_GT(l2, value("dram_read_bytes_per_s"));
  EXPECT_GT(value("l2_read_private_bytes_per_s"), value("dram_read_bytes_per_s"));
  EXPECT_GT(value("l2_write_bytes_per_s"), value("dram_write_bytes_per_s"));
  EXPECT_LT(value("l2_write_bytes_per_s"), l2);
  expect_between(8, "l2_read_bytes_per_cycle_per_sm", 128);
  expect_between(8, "l2_read_one_sm_bytes_per_cycle", 128);
  expect_between(1e10, "red_add_f32_bytes_per_s", 2 * l2);
  const auto l2_bytes = static_cast<double>(session().device().l2_bytes);
  for (const std::string name : {"l2_capacity_shared", "l2_capacity_halves", "l2_dirty_capacity"}) {
    expect_between(0.02 * l2_bytes, name + "_bytes", 1.3 * l2_bytes);
    EXPECT_LE(value(name + "_10_percent_bytes"), value(name + "_bytes"));
    EXPECT_LE(value(name + "_bytes"), value(name + "_90_percent_bytes"));
  }
}

TEST_F(CalibrateTest, LatenciesRiseWithTheDistance) {
  expect_between(15, "shared_latency_cycles", 60);
  expect_between(0.9 * value("shared_latency_cycles"), "l1_latency_cycles", 80);
  EXPECT_LT(value("l1_latency_cycles"), value("l2_latency_near_cycles"));
  EXPECT_LE(value("l2_latency_near_cycles"), value("l2_latency_cycles"));
  EXPECT_LE(value("l2_latency_cycles"), value("l2_latency_far_cycles"));
  EXPECT_LT(value("l2_latency_cycles"), value("dram_latency_cycles"));
  expect_between(0.5e-6, "launch_overhead_s", 50e-6);
  expect_between(0.1e-6, "launch_gap_s", 20e-6);
  expect_between(0.5 * value("launch_gap_s"), "launch_gap_full_grid_s", 50e-6);
}

TEST_F(CalibrateTest, RatesOfAnSmAreThoseOfItsUnits) {
  const double loads = value("shared_load_bytes_per_cycle_per_sm");
  for (const int ways : {2, 4, 8}) {
    const std::string name = fmt::format("shared_load_{}_way_bytes_per_cycle_per_sm", ways);
    expect_between(0.85 * loads / ways, name, 1.15 * loads / ways);
  }
  expect_between(64, "shared_load_bytes_per_cycle_per_sm", 128 * 1.02);
  expect_between(3, "issue_instructions_per_cycle_per_sm", 4.02);
  expect_between(0.8 * 16, "ex2_per_cycle_per_sm", 1.02 * 16);
  expect_between(2, "barrier_4_warps_cycles", 200);
  EXPECT_LE(value("barrier_4_warps_cycles"), value("barrier_16_warps_cycles"));
}

TEST_F(CalibrateTest, NoRateExceedsTheDatasheet) {
  std::optional<GpuDescription> gpu;
  for (const std::string& name : list_gpus()) {
    const auto shipped = load_gpu(name);
    if (shipped && shipped.value().device_name == session().device().name) gpu = shipped.value();
  }
  if (!gpu) GTEST_SKIP() << "no shipped description of " << session().device().name;
  for (const char* name :
       {"dram_read_bytes_per_s", "dram_write_bytes_per_s", "dram_copy_bytes_per_s"}) {
    expect_between(0.3 * gpu->dram_bytes_per_s, name, 1.1 * gpu->dram_bytes_per_s);
  }
  for (const char* name : {"sm_clock_hz", "sm_clock_idle_start_hz", "sm_clock_matrix_hz"}) {
    expect_between(0.2 * gpu->boost_clock_hz, name, 1.05 * gpu->boost_clock_hz);
  }
  const double of_all_sms = gpu->boost_clock_hz * static_cast<double>(gpu->sm_count);
  const double multiply_adds = gpu->other_flops_per_s / 2 / of_all_sms;
  expect_between(0.9 * multiply_adds, "ffma_per_cycle_per_sm", 1.05 * multiply_adds);

  // Units execute powers of two per cycle; datasheets state some rates at a clock below the boost
  // clock
  const double flops = *gpu->matrix_flops_per_s(DType::bf16) / of_all_sms;
  const double peak = std::exp2(std::round(std::log2(flops)));
  for (const OperationBenchmark& benchmark : operation_benchmarks(session().target())) {
    if (!benchmark.unavailable.empty() || benchmark.unit != "FLOP/cycle/SM") continue;
    expect_between(0.1 * peak, benchmark.name, 1.05 * peak);
  }
}

}  // namespace
}  // namespace attnscope::kernels
