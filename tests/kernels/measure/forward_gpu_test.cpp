/// Measuring and running the catalog's kernels on a GPU.
#include <gmock/gmock.h>

#include <cstring>

#include "kernels/catalog.h"
#include "kernels/measure/gpu.h"
#include "kernels/measure/inputs/forward_tensors.h"
#include "kernels/measure/measure_forward.h"
#include "reference/naive_attention.h"
#include "reference/tolerance.h"
#include "reference/unfused_attention.h"
#include "tests/kernels/measure/gpu_session.h"
#include "tests/support/kernel_run.h"

namespace attnscope::kernels {
namespace {

using ::testing::HasSubstr;

class ForwardTest : public GpuTest {};

TEST_F(ForwardTest, GeneratedInputsEqualTheCpusToTheBit) {
  for (InputKind kind : {InputKind::gaussian, InputKind::outlier, InputKind::needle}) {
    for (DType dtype : {DType::fp32, DType::fp16, DType::bf16}) {
      const AttentionProblem problem = grouped_problem(200, dtype, Mask::none());
      const InputSpec spec{kind, 77};
      const AttentionInputs inputs = make_inputs(problem, spec);
      on_gpu([&] {
        auto tensors = ForwardTensors::allocate(test::kernel_run("flash2", problem));
        ASSERT_TRUE(tensors.ok()) << tensors.error().message;
        tensors.value().generate_inputs(session(), spec);
        session().stream().wait();
        const auto equal = [&](CheckedTensor tensor, const HeadTensor& expected) {
          for (Index b = 0; b < expected.batch; ++b) {
            for (Index h = 0; h < expected.heads; ++h) {
              const auto head = expected.head(b, h);
              EXPECT_EQ(tensors.value().fetch(tensor, b, h, 0, expected.rows),
                        std::vector<double>(head.begin(), head.end()))
                  << to_string(kind) << " " << to_string(dtype);
            }
          }
        };
        equal(CheckedTensor::Q, inputs.Q);
        equal(CheckedTensor::K, inputs.K);
        equal(CheckedTensor::V, inputs.V);
      });
    }
  }
}

TEST_F(ForwardTest, EveryKernelIsMeasuredWithTimesCountersAndErrors) {
  for (const KernelInfo& kernel : catalog()) {
    for (DType dtype : {DType::fp32, DType::bf16}) {
      if (!takes_pass(kernel, PassKind::forward, dtype)) continue;
      ResolvedRun run = test::kernel_run(kernel.name, grouped_problem(1024, dtype, Mask::causal()));
      if (kernel.honours_carry) run.asked.variant.carry = Carry::fp32;
      Measurement measurement;
      const auto error = session().run([&]() -> std::optional<Error> {
        auto measured = measure_forward(session(), run, {}, Protocol{});
        if (!measured) return measured.error();
        measurement = std::move(measured).value();
        return std::nullopt;
      });
      ASSERT_FALSE(error) << kernel.name << ": " << error->message;
      std::printf("%s %s: %.1f us, max error %.2e (unfused %.2e)\n",
                  std::string(kernel.name).c_str(), std::string(to_string(dtype)).c_str(),
                  measurement.time.median_s * 1e6, measurement.accuracy->max_abs_error,
                  *measurement.accuracy->unfused_max_abs_error);
      for (const LaunchCounters& launch : measurement.launches) {
        std::printf("  %s%s:", launch.name.c_str(), launch.counted ? "" : " (not counted)");
        for (const auto& [name, value] : launch.counters) {
          std::printf(" %s=%.6g", name.c_str(), value);
        }
        std::printf("\n");
      }
      EXPECT_GT(measurement.time.median_s, 0.0);
      ASSERT_TRUE(measurement.accuracy);
      EXPECT_TRUE(measurement.accuracy->within_tolerance) << kernel.name;
      if (measurement.unavailable_counters.contains("*") && !is_required()) continue;
      EXPECT_THAT(measurement.unavailable_counters, ::testing::IsEmpty());
      EXPECT_GT(measurement.counter(counter::kRequestedReadBytes).value_or(0.0), 0.0);
    }
  }
}

TEST_F(ForwardTest, OutOfMemorySaysWhatIsNeededAndFree) {
  AttentionProblem problem = grouped_problem(1 << 20, DType::bf16, Mask::none());
  const auto error = session().run([&]() -> std::optional<Error> {
    auto measured = measure_forward(session(), test::kernel_run("standard", problem), {}, {});
    return measured.ok() ? std::nullopt : std::optional(measured.error());
  });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind, Error::Kind::failed);
  EXPECT_THAT(error->message, HasSubstr("out of memory: needs "));
  EXPECT_FALSE(session().lost());
}

TEST_F(ForwardTest, EveryKernelRunsOnTheHostsData) {
  const auto gpu = Gpu::open();
  ASSERT_TRUE(gpu.ok()) << gpu.error().message;
  const AttentionProblem problem = grouped_problem(300, DType::fp16, Mask::causal());
  const AttentionInputs inputs = make_inputs(problem, {InputKind::needle, 3});
  const ForwardResult reference = naive_forward(problem, inputs);
  const ForwardResult unfused = unfused_forward(problem, inputs);
  const Tolerance O_tolerance = tolerance_from(unfused.O.data, reference.O.data, problem.dtype);
  const Tolerance LSE_tolerance = tolerance_from(unfused.LSE.data, reference.LSE.data, DType::fp32);
  for (const KernelInfo& kernel : catalog()) {
    const Carry carry = kernel.honours_carry ? Carry::fp32 : Carry::problem;
    const auto result = gpu.value()->run_forward(
        test::kernel_run(kernel.name, problem, PassKind::forward, {}, carry), inputs);
    ASSERT_TRUE(result.ok()) << kernel.name << ": " << result.error().message;
    const RunResult& run = result.value();
    EXPECT_TRUE(within(compare(run.O.data, reference.O.data), O_tolerance)) << kernel.name;
    EXPECT_TRUE(within(compare(run.LSE.data, reference.LSE.data), LSE_tolerance)) << kernel.name;
    EXPECT_GT(run.time.median_s, 0.0);
  }

  // A rejection leaves the GPU usable, and a measurement becomes a recording's row
  AttentionProblem odd = problem;
  odd.d = 300;
  const RecordingRow refused = gpu.value()->record(test::kernel_run("flash2", odd), {});
  ASSERT_TRUE(refused.error);
  const RecordingRow row = gpu.value()->record(test::kernel_run("flash2", problem), {});
  ASSERT_TRUE(row.measurement) << row.error->message;
  EXPECT_EQ(row.measurement->launches.size(), 1u);
  EXPECT_EQ(row.measurement->launches[0].name, "forward");
  Recording recording = gpu.value()->empty_recording({});
  recording.rows = {row};
  std::printf("%s", recording_text(recording).c_str());
}

}  // namespace
}  // namespace attnscope::kernels
