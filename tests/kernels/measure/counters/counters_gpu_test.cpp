/// The hardware counters and the shapes of launches, compared with kernels whose traffic and
/// launches are known.
#include <gmock/gmock.h>

#include "kernels/default_tilings.h"
#include "kernels/host/device_buffer.h"
#include "kernels/measure/counters/counter_profiler.h"
#include "kernels/measure/counters/counter_totals.h"
#include "kernels/measure/counters/launch_shapes.h"
#include "kernels/measure/measure_backward.h"
#include "kernels/measure/measure_forward.h"
#include "kernels/measure/timing/timing.h"
#include "sim/resolve.h"
#include "sim/simulation.h"
#include "tests/kernels/measure/copy_kernel.h"
#include "tests/kernels/measure/gpu_session.h"
#include "tests/support/kernel_run.h"

namespace attnscope::kernels {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

class CounterTest : public GpuTest {
 protected:
  /// Also skips the test if reading counters is not permitted.
  void SetUp() override {
    GpuTest::SetUp();
    if (HasFatalFailure() || IsSkipped()) return;
    std::string reason;
    on_gpu([&] {
      if (const auto& profiler = session().profiler(); !profiler) reason = profiler.error().message;
    });
    if (reason.empty()) return;
    ASSERT_FALSE(is_required()) << reason;
    GTEST_SKIP() << reason;
  }

  std::vector<LaunchCounters> collect(const Pass& pass, CacheState cache = CacheState::cold) {
    std::vector<LaunchCounters> launches;
    on_gpu([&] {
      auto collected = session().profiler().value()->collect(session().stream(),
                                                             session().conditioning(), pass, cache);
      ASSERT_TRUE(collected.ok()) << collected.error().message;
      launches = std::move(collected).value();
    });
    return launches;
  }
};

/// Calls `launch` between the marks, if there are any.
void marked(const LaunchMarks& marks, std::string_view name, const std::function<void()>& launch) {
  if (marks.before) marks.before(name);
  launch();
  if (marks.after) marks.after(name);
}

double value(const LaunchCounters& launch, std::string_view name) {
  const auto found = launch.counters.find(name);
  EXPECT_NE(found, launch.counters.end()) << name;
  return found == launch.counters.end() ? -1.0 : found->second;
}

TEST_F(CounterTest, ACopyReadsAndWritesItsBytesExactlyAtTheSmPort) {
  constexpr std::size_t kBytes = 1024 * kMiB;
  DeviceBuffer from;
  DeviceBuffer to;
  on_gpu([&] {
    from = DeviceBuffer(kBytes);
    to = DeviceBuffer(kBytes);
    from.fill_bytes(1);
  });
  const auto launches = collect([&](const LaunchMarks& marks) -> std::optional<Error> {
    marked(marks, "copy", [&] { enqueue_copy(session(), to.data_dev(), from.data_dev(), kBytes); });
    return std::nullopt;
  });
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_EQ(launches[0].name, "copy");
  for (const auto& [name, counted] : launches[0].counters) {
    std::printf("copy of 1 GiB: %-70s %.6g\n", name.c_str(), counted);
  }
  EXPECT_EQ(value(launches[0], counter::kRequestedReadBytes), static_cast<double>(kBytes));
  EXPECT_EQ(value(launches[0], counter::kRequestedWriteBytes), static_cast<double>(kBytes));
  EXPECT_NEAR(value(launches[0], counter::kDramReadBytes), kBytes, 0.02 * kBytes);
  EXPECT_GT(value(launches[0], counter::kTimeNs), 1e5);
  on_gpu([&] {
    from = {};
    to = {};
  });
}

TEST_F(CounterTest, LaunchesOfAPassAreCountedApartAndColdReadsComeFromDram) {
  constexpr std::size_t kBytes = 16 * kMiB;
  DeviceBuffer from;
  on_gpu([&] {
    from = DeviceBuffer(kBytes);
    from.fill_bytes(0);
  });
  const int blocks = static_cast<int>(session().device().sm_count);
  const auto launches = collect([&](const LaunchMarks& marks) -> std::optional<Error> {
    const auto read_by = [&](int block_count) {
      return [&, block_count] {
        enqueue_repeated_read(session(), from.data_dev(), kBytes, block_count);
      };
    };
    marked(marks, "initialise", read_by(1));
    marked(marks, "read", read_by(blocks));
    marked(marks, "read", read_by(blocks));
    return std::nullopt;
  });
  ASSERT_EQ(launches.size(), 3u);
  EXPECT_FALSE(launches[0].counted);
  EXPECT_EQ(launches[1].name, "read");
  EXPECT_EQ(launches[2].name, "read");
  const double asked = static_cast<double>(blocks) * static_cast<double>(kBytes);
  EXPECT_NEAR(value(launches[0], counter::kDramReadBytes), kBytes, 0.1 * kBytes);
  EXPECT_EQ(value(launches[0], counter::kRequestedReadBytes), static_cast<double>(kBytes));
  EXPECT_EQ(value(launches[1], counter::kRequestedReadBytes), asked);
  EXPECT_LT(value(launches[1], counter::kDramReadBytes), 0.1 * kBytes);
  EXPECT_EQ(total_of(launches).find(counter::kRequestedReadBytes)->second, 2 * asked);
  on_gpu([&] { from = {}; });
}

TEST_F(CounterTest, WarmReadsStayInL2) {
  constexpr std::size_t kBytes = 8 * kMiB;
  DeviceBuffer from;
  on_gpu([&] {
    from = DeviceBuffer(kBytes);
    from.fill_bytes(0);
  });
  const auto launches = collect(
      [&](const LaunchMarks& marks) -> std::optional<Error> {
        marked(marks, "read",
               [&] { enqueue_repeated_read(session(), from.data_dev(), kBytes, 1); });
        return std::nullopt;
      },
      CacheState::warm);
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_LT(value(launches[0], counter::kDramReadBytes), 0.1 * kBytes);
  on_gpu([&] { from = {}; });
}

TEST_F(CounterTest, EveryPlannedCounterExistsOnThisChipOrSaysWhyNot) {
  on_gpu([&] {
    const CounterPlan& plan = session().profiler().value()->plan();
    for (const CounterGroup& group : plan.groups) {
      std::printf("%s, %zu hardware passes:", plan.chip.c_str(), group.hardware_passes);
      for (const std::string& name : group.names) std::printf(" %s", name.c_str());
      std::printf("\n");
    }
    for (const auto& [name, reason] : plan.missing) {
      std::printf("missing: %s: %s\n", name.c_str(), reason.c_str());
    }
    EXPECT_FALSE(plan.groups.empty());
  });
}

class LaunchShapeTest : public CounterTest {
 protected:
  /// The launches of the run's pass, with their kernels.
  std::vector<LaunchCounters> measured_launches(const ResolvedRun& run) {
    Measurement measurement;
    on_gpu([&] {
      const bool forward = run.pass() == PassKind::forward;
      auto measured = forward ? measure_forward(session(), run, {}, Protocol{})
                              : measure_backward(session(), run, {}, Protocol{});
      ASSERT_TRUE(measured.ok()) << measured.error().message;
      measurement = std::move(measured).value();
    });
    EXPECT_THAT(measurement.unavailable_counters, ::testing::IsEmpty());
    for (const LaunchCounters& launch : measurement.launches) {
      for (const LaunchShape& kernel : launch.kernels) {
        std::printf(
            "%s %s: %s, grid %s, cluster %s, %lld threads, %lld registers, %lld bytes of "
            "shared memory, %lld resident\n",
            run.asked.kernel.c_str(), launch.name.c_str(), kernel.name.c_str(),
            ::testing::PrintToString(kernel.grid).c_str(),
            ::testing::PrintToString(kernel.cluster).c_str(),
            static_cast<long long>(kernel.threads), static_cast<long long>(kernel.registers),
            static_cast<long long>(kernel.shared_bytes),
            static_cast<long long>(kernel.resident_blocks));
      }
    }
    return measurement.launches;
  }
};

Index thread_blocks(const LaunchShape& kernel) {
  return kernel.grid[0] * kernel.grid[1] * kernel.grid[2];
}

TEST_F(LaunchShapeTest, KernelsBelongToTheLaunchBetweenWhoseMarksTheyStart) {
  constexpr std::size_t kBytes = kMiB;
  std::vector<LaunchCounters> launches = {{"pair", true, {}}, {"nothing", true, {}}};
  std::vector<LaunchCounters> others = {{"pair", true, {}}};
  std::optional<Error> error;
  std::optional<Error> refusal;
  on_gpu([&] {
    DeviceBuffer buffer(kBytes);
    buffer.fill_bytes(0);
    const auto read = [&](int blocks) {
      enqueue_repeated_read(session(), buffer.data_dev(), kBytes, blocks);
    };
    const Pass pass = [&](const LaunchMarks& marks) -> std::optional<Error> {
      read(5);
      marked(marks, "pair", [&] {
        read(7);
        read(11);
      });
      read(13);
      marked(marks, "nothing", [] {});
      return std::nullopt;
    };
    error = add_launch_shapes(session().stream(), pass, launches);
    refusal = add_launch_shapes(session().stream(), pass, others);
  });
  ASSERT_FALSE(error) << error->message;
  ASSERT_EQ(launches[0].kernels.size(), 2u);
  EXPECT_EQ(thread_blocks(launches[0].kernels[0]), 7);
  EXPECT_EQ(thread_blocks(launches[0].kernels[1]), 11);
  EXPECT_EQ(launches[0].kernels[0].name, launches[0].kernels[1].name);
  EXPECT_TRUE(launches[1].kernels.empty());
  ASSERT_TRUE(refusal);
  EXPECT_THAT(refusal->message, ::testing::HasSubstr("did not start the same launches"));
  EXPECT_TRUE(others[0].kernels.empty());
}

TEST_F(LaunchShapeTest, Flash2LaunchesOneKernelOnTheModelledThreadBlocks) {
  ResolvedRun run = test::kernel_run("flash2", grouped_problem(1000, DType::bf16, Mask::causal()));
  run = run_on_gpu(run, session().target());
  run.asked.set_tiling(run.tiling);
  const auto launches = measured_launches(run);
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_EQ(launches[0].name, "forward");
  ASSERT_EQ(launches[0].kernels.size(), 1u);
  const LaunchShape& kernel = launches[0].kernels[0];
  EXPECT_THAT(kernel.name, ::testing::HasSubstr("flash2_forward"));

  // The model's thread blocks; the GPU does not matter, since the tiling is given
  const GpuDescription gpu = load_gpu("h200").value();
  const auto modelled = attnscope::resolve(run.asked, gpu);
  ASSERT_TRUE(modelled) << modelled.error().message;
  const auto report = simulate(modelled.value(), gpu);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(thread_blocks(kernel), report.value().launches.at(0).thread_blocks);

  // The resources that the program requests
  const BlockProgram block = programs_of(run, session().target()).at(0).block;
  EXPECT_EQ(kernel.threads, block.threads);
  EXPECT_GE(kernel.shared_bytes, block.shared_bytes);
  EXPECT_EQ(kernel.cluster, (std::array<Index, 3>{1, 1, 1}));
  EXPECT_GE(kernel.registers, 16);
  EXPECT_LE(kernel.registers, 255);
  EXPECT_GE(kernel.resident_blocks, 1);
}

TEST_F(LaunchShapeTest, EveryLaunchOfStandardNamesItsKernels) {
  for (const PassKind pass : {PassKind::forward, PassKind::backward}) {
    const auto launches = measured_launches(
        test::kernel_run("standard", grouped_problem(1000, DType::bf16, Mask::causal()), pass));
    EXPECT_GE(launches.size(), 3u);
    for (const LaunchCounters& launch : launches) {
      EXPECT_FALSE(launch.kernels.empty()) << launch.name;
      for (const LaunchShape& kernel : launch.kernels) {
        EXPECT_NE(kernel.name, "") << launch.name;
        EXPECT_GE(thread_blocks(kernel), 1) << kernel.name;
        EXPECT_GE(kernel.threads, 32) << kernel.name;
        EXPECT_GE(kernel.resident_blocks, 1) << kernel.name;
      }
    }
  }
}

class TimingTest : public GpuTest {};

TEST_F(TimingTest, ACopyRunsNearTheMemorysBandwidth) {
  constexpr std::size_t kBytes = 1024 * kMiB;
  on_gpu([&] {
    DeviceBuffer from(kBytes);
    DeviceBuffer to(kBytes);
    from.fill_bytes(1);
    const Pass copy = [&](const LaunchMarks&) -> std::optional<Error> {
      enqueue_copy(session(), to.data_dev(), from.data_dev(), kBytes);
      return std::nullopt;
    };
    const auto time = time_pass(session().stream(), session().conditioning(), copy, Protocol{},
                                &session().sm_clock());
    ASSERT_TRUE(time.ok());
    const TimeStatistics& t = time.value();
    std::printf("copy of 1 GiB: median %.1f us, min %.1f, max %.1f, n %d: %.2f TB/s\n",
                t.median_s * 1e6, t.min_s * 1e6, t.max_s * 1e6, t.n,
                2.0 * static_cast<double>(kBytes) / t.median_s * 1e-12);
    EXPECT_EQ(t.n, Protocol{}.repeats);
    EXPECT_LE(t.min_s, t.median_s);
    EXPECT_LE(t.median_s, t.max_s);
    EXPECT_GT(t.min_s, 0.0);
  });
}

TEST_F(TimingTest, TheTimeBudgetEndsRepeatsButLeavesThree) {
  constexpr std::size_t kBytes = 256 * kMiB;
  on_gpu([&] {
    DeviceBuffer from(kBytes);
    DeviceBuffer to(kBytes);
    const Pass copy = [&](const LaunchMarks&) -> std::optional<Error> {
      enqueue_copy(session(), to.data_dev(), from.data_dev(), kBytes);
      return std::nullopt;
    };
    Protocol protocol;
    protocol.repeats = 1'000'000;
    protocol.time_budget_s = 0.0;
    const auto time = time_pass(session().stream(), session().conditioning(), copy, protocol,
                                &session().sm_clock());
    ASSERT_TRUE(time.ok());
    EXPECT_EQ(time.value().n, 3);
  });
}

}  // namespace
}  // namespace attnscope::kernels
