/// The SM clock of timed passes on a GPU: its value is possible for the chip, and reading it does
/// not change the times.
#include "kernels/measure/timing/sm_clock.h"

#include <gmock/gmock.h>

#include <cmath>

#include "kernels/measure/inputs/backward_tensors.h"
#include "kernels/measure/inputs/forward_tensors.h"
#include "kernels/measure/measure_forward.h"
#include "kernels/measure/timing/statistics.h"
#include "kernels/measure/timing/timing.h"
#include "sim/device/gpu_description.h"
#include "tests/kernels/measure/gpu_session.h"
#include "tests/support/kernel_run.h"

namespace attnscope::kernels {
namespace {

AttentionProblem problem_of(Index N) {
  return {
      .batch = 1, .heads = 16, .kv_heads = 16, .N = N, .N_kv = N, .d = 128, .dtype = DType::bf16};
}

class SmClockTest : public GpuTest {
 protected:
  /// The boost clock in the shipped description of this GPU; nothing if there is none.
  std::optional<double> boost_clock_hz() {
    for (const std::string& name : list_gpus()) {
      const auto gpu = load_gpu(name);
      if (gpu && gpu.value().device_name == session().device().name) {
        return gpu.value().boost_clock_hz;
      }
    }
    return std::nullopt;
  }

  TimeStatistics time(const Pass& pass, CacheState cache, const SmClock* sm_clock) {
    const auto time = time_pass(session().stream(), session().conditioning(), pass,
                                {.cache = cache, .time_budget_s = 1.0}, sm_clock);
    EXPECT_TRUE(time.ok()) << time.error().message;
    return time ? time.value() : TimeStatistics();
  }

  /// Compares the medians of alternating rounds with and without readings: they differ by at most
  /// 3 % plus half a microsecond, about as much as medians of one pass do.
  void expect_equal_times(const char* name, const Pass& pass, CacheState cache) {
    constexpr int kRounds = 9;
    std::vector<double> with_s, without_s;
    for (int round = 0; round < kRounds; ++round) {
      without_s.push_back(time(pass, cache, nullptr).median_s);
      with_s.push_back(time(pass, cache, &session().sm_clock()).median_s);
    }
    const double with = median_of(with_s), without = median_of(without_s);
    std::printf("%s, %s L2: %.2f us with clock readings, %.2f us without\n", name,
                std::string(to_string(cache)).c_str(), with * 1e6, without * 1e6);
    EXPECT_TRUE(std::abs(with - without) <= 0.03 * without + 0.5e-6) << name;
  }
};

TEST_F(SmClockTest, OfLongAndShortPassesIsOneThatTheChipCanHave) {
  const auto boost_hz = boost_clock_hz();
  if (!boost_hz) GTEST_SKIP() << "no shipped description of " << session().device().name;
  on_gpu([&] {
    for (const char* kernel : {"standard", "flash2"}) {
      for (const Index N : {256, 1024, 8192}) {
        const auto measured = measure_forward(session(), test::kernel_run(kernel, problem_of(N)),
                                              {}, {.counters = false, .checked_rows = 0});
        ASSERT_TRUE(measured.ok()) << measured.error().message;
        const TimeStatistics& time = measured.value().time;
        ASSERT_TRUE(time.sm_clock_hz) << kernel << " " << N;
        std::printf("%s, N %d: %.1f us at %.3f GHz\n", kernel, static_cast<int>(N),
                    time.median_s * 1e6, *time.sm_clock_hz * 1e-9);
        EXPECT_TRUE(0.2 * *boost_hz <= *time.sm_clock_hz && *time.sm_clock_hz <= 1.05 * *boost_hz)
            << kernel << " " << N << ": " << *time.sm_clock_hz;
      }
    }
  });
}

TEST_F(SmClockTest, IsAbsentWhereItIsNotRead) {
  on_gpu([&] {
    auto tensors = ForwardTensors::allocate(test::kernel_run("flash2", problem_of(256)));
    ASSERT_TRUE(tensors.ok()) << tensors.error().message;
    tensors.value().generate_inputs(session(), {});
    const Pass pass = tensors.value().pass(session(), /*with_lse=*/false);
    EXPECT_FALSE(time(pass, CacheState::warm, nullptr).sm_clock_hz);
    EXPECT_TRUE(time(pass, CacheState::warm, &session().sm_clock()).sm_clock_hz);
  });
}

TEST_F(SmClockTest, ReadingItLeavesTheTimesOfForwardPassesAlone) {
  on_gpu([&] {
    for (const char* kernel : {"standard", "flash2", "split_kv"}) {
      for (const Index N : {256, 4096}) {
        AttentionProblem problem = problem_of(N);
        if (std::string_view(kernel) == "split_kv") problem.N = 1;  // overlapping launches
        auto tensors = ForwardTensors::allocate(test::kernel_run(kernel, problem));
        ASSERT_TRUE(tensors.ok()) << tensors.error().message;
        tensors.value().generate_inputs(session(), {});
        const Pass pass = tensors.value().pass(session(), /*with_lse=*/false);
        for (const CacheState cache : {CacheState::cold, CacheState::warm}) {
          expect_equal_times(fmt::format("{}, N {}", kernel, N).c_str(), pass, cache);
        }
      }
    }
  });
}

TEST_F(SmClockTest, ReadingItLeavesTheTimesOfBackwardPassesAlone) {
  on_gpu([&] {
    for (const char* kernel : {"standard", "flash2"}) {
      auto tensors =
          BackwardTensors::allocate(test::kernel_run(kernel, problem_of(1024), PassKind::backward));
      ASSERT_TRUE(tensors.ok()) << tensors.error().message;
      tensors.value().generate_inputs(session(), {});
      ASSERT_FALSE(tensors.value().run_forward(session()));
      const Pass pass = tensors.value().pass(session());
      for (const CacheState cache : {CacheState::cold, CacheState::warm}) {
        expect_equal_times(kernel, pass, cache);
      }
    }
  });
}

}  // namespace
}  // namespace attnscope::kernels
