/// Measuring and running backward passes on a GPU.
#include <gmock/gmock.h>

#include "kernels/catalog.h"
#include "kernels/measure/gpu.h"
#include "kernels/measure/measure_backward.h"
#include "reference/tolerance.h"
#include "reference/unfused_attention.h"
#include "tests/kernels/measure/gpu_session.h"
#include "tests/support/kernel_run.h"

namespace attnscope::kernels {
namespace {

class BackwardTest : public GpuTest {};

TEST_F(BackwardTest, EveryBackwardPassIsMeasuredWithTimesCountersAndErrors) {
  for (const KernelInfo& kernel : catalog()) {
    if (!kernel.has_backward()) continue;
    for (const Mask& mask : {Mask::none(), Mask::causal()}) {
      const ResolvedRun run = test::kernel_run(
          kernel.name, grouped_problem(1024, DType::bf16, mask), PassKind::backward);
      Measurement measurement;
      const auto error = session().run([&]() -> std::optional<Error> {
        auto measured = measure_backward(session(), run, {}, Protocol{});
        if (!measured) return measured.error();
        measurement = std::move(measured).value();
        return std::nullopt;
      });
      ASSERT_FALSE(error) << kernel.name << ": " << error->message;
      EXPECT_GT(measurement.time.median_s, 0.0);
      ASSERT_TRUE(measurement.gradients);
      EXPECT_TRUE(measurement.gradients->within_tolerance) << kernel.name;
      EXPECT_GE(measurement.gradients->rows_checked, 64);
      EXPECT_GE(measurement.gradients->keys_checked, 64);
      if (measurement.unavailable_counters.contains("*") && !is_required()) continue;
      EXPECT_GE(measurement.launches.size(), 3u);
      EXPECT_GT(measurement.counter(counter::kRequestedReadBytes).value_or(0.0), 0.0);
    }
  }
}

TEST_F(BackwardTest, GradientsOfHostDataObeyTheRule) {
  const auto gpu = Gpu::open();
  ASSERT_TRUE(gpu.ok()) << gpu.error().message;
  const AttentionProblem problem = grouped_problem(130, DType::fp16, Mask::causal());
  const AttentionInputs inputs = make_inputs(problem, {.seed = 3});
  const Gradients reference = naive_backward(problem, inputs, naive_forward(problem, inputs));
  const Gradients unfused = unfused_backward(problem, inputs);
  for (const KernelInfo& kernel : catalog()) {
    if (!kernel.has_backward()) continue;
    const auto run = gpu.value()->run_backward(
        test::kernel_run(kernel.name, problem, PassKind::backward), inputs);
    ASSERT_TRUE(run.ok()) << run.error().message;
    EXPECT_GT(run.value().time.median_s, 0.0);
    for (HeadTensor Gradients::*tensor : {&Gradients::dQ, &Gradients::dK, &Gradients::dV}) {
      const auto& ref = (reference.*tensor).data;
      EXPECT_TRUE(within(compare((run.value().gradients.*tensor).data, ref),
                         gradient_tolerance(problem, inputs, (unfused.*tensor).data, ref)))
          << kernel.name;
    }
  }
}

TEST_F(BackwardTest, TheUsersOwnTensorsAreMeasuredAsTheSameGeneratedOnesAre) {
  const auto gpu = Gpu::open();
  ASSERT_TRUE(gpu.ok()) << gpu.error().message;
  const AttentionProblem problem = grouped_problem(300, DType::bf16, Mask::causal());
  const InputSpec spec{InputKind::outlier, 3};
  const AttentionInputs inputs = make_inputs(problem, spec);
  for (const PassKind pass : {PassKind::forward, PassKind::backward}) {
    ResolvedRun run = test::kernel_run("flash2", problem, pass);
    run.asked.inputs = spec;
    const RecordingRow drawn = gpu.value()->record(run, Protocol{});
    run.files_hash = hash_of_inputs(inputs);
    const RecordingRow own = gpu.value()->record_own(run, inputs, Protocol{});
    ASSERT_FALSE(own.error) << own.error->message;
    ASSERT_FALSE(drawn.error) << drawn.error->message;
    EXPECT_EQ(own.run.files_hash, run.files_hash);
    EXPECT_GT(own.measurement->time.median_s, 0.0);
    EXPECT_EQ(own.measurement->counter(counter::kRequestedReadBytes),
              drawn.measurement->counter(counter::kRequestedReadBytes));
    if (pass == PassKind::forward) {
      ASSERT_TRUE(own.measurement->accuracy && drawn.measurement->accuracy);
      EXPECT_TRUE(own.measurement->accuracy->within_tolerance);
      EXPECT_EQ(own.measurement->accuracy->max_abs_error,
                drawn.measurement->accuracy->max_abs_error);
    } else {
      ASSERT_TRUE(own.measurement->gradients && drawn.measurement->gradients);
      EXPECT_TRUE(own.measurement->gradients->within_tolerance);
      EXPECT_EQ(own.measurement->gradients->dK.max_abs_error,
                drawn.measurement->gradients->dK.max_abs_error);
    }
  }
}

TEST_F(BackwardTest, ScoreFunctionsAndSequencesObeyTheRule) {
  const auto gpu = Gpu::open();
  ASSERT_TRUE(gpu.ok()) << gpu.error().message;
  AttentionProblem padded = grouped_problem(1100, DType::bf16, Mask::window(200, 30));
  padded.score.soft_cap = 3.0;
  padded.score.alibi_slopes = standard_alibi_slopes(padded.heads);
  padded.score.dropout = {.probability = 0.17, .seed = 11};
  AttentionProblem packed = padded;
  padded.key_lengths = {padded.N_kv, 500};
  packed.batch = 1;
  packed.cu_seqlens_q = {0, 300, 301, packed.N};
  packed.cu_seqlens_k = {0, 500, 700, packed.N_kv};
  for (const AttentionProblem& problem : {padded, packed}) {
    for (const PassKind pass : {PassKind::forward, PassKind::backward}) {
      const RecordingRow row =
          gpu.value()->record(test::kernel_run("flash2", problem, pass), Protocol{});
      ASSERT_FALSE(row.error) << row.error->message;
      const Measurement& measured = *row.measurement;
      EXPECT_TRUE(pass == PassKind::forward ? measured.accuracy->within_tolerance
                                            : measured.gradients->within_tolerance)
          << extras_text(problem) << ", " << to_string(pass);
    }
  }
}

}  // namespace
}  // namespace attnscope::kernels
