/// Traced kernels with every value of every switch: they give the same results as the plain ones,
/// and record the steps and statistics of the program that the switch asks for.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "app/report/report_text.h"
#include "kernels/compile/block_program.h"
#include "kernels/measure/trace/trace_plan.h"
#include "tests/kernels/knob_cases.h"
#include "tests/kernels/traced_kernels.h"
#include "tests/kernels/traced_problems.h"

namespace attnscope::kernels {
namespace {

class TracedKnobs : public TracedKernels, public ::testing::WithParamInterface<KnobCase> {
 protected:
  /// The case's runs that the kernel supports: one without a mask and one under a causal mask.
  static std::vector<ResolvedRun> runs() {
    std::vector<ResolvedRun> supported;
    for (const AttentionProblem& problem :
         {problem_of(64, 300, 460), problem_of(128, 460, 300, Mask::causal())}) {
      ResolvedRun run = run_of(GetParam(), problem, target());
      if (supports(run)) continue;
      EXPECT_FALSE(check_program(run, target())) << run_title(run);
      supported.push_back(std::move(run));
    }
    return supported;
  }
  static bool is_forward() { return GetParam().pass == PassKind::forward; }
};

TEST_P(TracedKnobs, ComputeWhatThePlainKernelComputes) {
  ATTNSCOPE_NEEDS_GPU();
  ASSERT_FALSE(runs().empty());
  // The program without a trace computes alpha l and the first addition of the row sum in one fused
  // multiply-add; in the traced program, a hook separates them. l may then differ in its last bit,
  // and so may O after rounding
  const double most = GetParam().name == "rescale" ? std::exp2(-7) : 0.0;
  for (const ResolvedRun& run : runs()) {
    if (is_forward()) {
      expect_plain_output(run, most);
    } else {
      expect_plain_key_gradients(run);
    }
  }
}

/// How often each step is recorded, over all blocks, and how often it is left out.
struct StepCounts {
  explicit StepCounts(const KernelTrace& trace) {
    for (const TracedBlock& block : trace.blocks) {
      for (const TracedStep& step : block.steps) ++(step.done ? done : left_out)[step.step];
    }
  }
  std::map<TraceStep, int> done, left_out;
};

/// Whether every Kj but the first is loaded after P V of the previous tile has been added to O.
bool loads_after_use(const TracedBlock& block) {
  int loaded = 0, used = 0;
  for (const TracedStep& step : block.steps) {
    if (step.step == TraceStep::load_Kj && ++loaded > used + 1) return false;
    if (step.step == TraceStep::accumulate) ++used;
  }
  return true;
}

TEST_P(TracedKnobs, RecordTheirProgramsSteps) {
  ATTNSCOPE_NEEDS_GPU();
  const auto& [kernel, pass, name, value] = GetParam();
  ASSERT_FALSE(runs().empty());
  for (const ResolvedRun& run : runs()) {
    SCOPED_TRACE(run_title(run));
    const KernelTrace traced = trace(run, 0);
    StepCounts counts(traced);
    EXPECT_GT(counts.done[TraceStep::scores], 0);
    if (name == "mask") {
      // The schedule masks only tiles at the mask's edge; with this switch, the kernel masks all
      EXPECT_EQ(counts.done[TraceStep::mask], counts.done[TraceStep::scores]);
      continue;
    }
    expect_schedule(run, kernel->name == "split_kv" ? splits_of(run.problem) : 1);
    if (name == "rescale") {
      EXPECT_EQ(counts.left_out[TraceStep::rescale], 0);
    }
    if (name == "stages" && traced.instructions == kTensorCores) {
      EXPECT_EQ(std::ranges::all_of(traced.blocks, loads_after_use), value == "1");
    }
    if (name == "instructions") {
      EXPECT_EQ(traced.instructions, kTensorCores);
    }
  }
}

/// The backward pass has no online softmax.
class TracedForwardKnobs : public TracedKnobs {};

TEST_P(TracedForwardKnobs, RecordTheAlgorithmsStatistics) {
  ATTNSCOPE_NEEDS_GPU();
  const auto& [kernel, pass, name, value] = GetParam();
  for (const ResolvedRun& run : runs()) {
    States states{.row_step = 37};
    if (kernel->name == "split_kv") states.splits = splits_of(run.problem);
    const TracePlan plan = plan_trace(run, states.row_step, target()).value();
    states.parts = plan.row_parts;
    EXPECT_EQ(plan.row_parts > 1, kernel->name == "split_kv" || name == "partition");
    if (name == "exp") states.l_error = 7.5e-5;  // of its polynomial, as the switch says
    expect_states(run, states);
  }
}

std::vector<KnobCase> forward_cases() {
  std::vector<KnobCase> cases = knob_cases();
  std::erase_if(cases, [](const KnobCase& each) { return each.pass == PassKind::backward; });
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Each, TracedKnobs, ::testing::ValuesIn(knob_cases()));
INSTANTIATE_TEST_SUITE_P(Each, TracedForwardKnobs, ::testing::ValuesIn(forward_cases()));

/// With a fixed order of additions, dQ has the same bits, too.
TEST_F(TracedKernels, AddToDQInAFixedOrder) {
  ATTNSCOPE_NEEDS_GPU();
  for (const AttentionProblem& problem :
       {problem_of(64, 512, 512), problem_of(128, 409, 300, Mask::causal()),
        problem_of(192, 300, 409), problem_of(64, 2048, 2048, Mask::causal())}) {
    for (const bool mma : {false, true}) {
      ResolvedRun run = test::kernel_run("flash2", problem, PassKind::backward);
      run.asked.deterministic = true;
      if (mma) run.asked.switches = {{kInstructionsKnob, "mma"}};
      expect_schedule(run);
      expect_plain_gradients(run);
    }
  }
}

/// The precision of O in HBM is fp32.
TEST_F(TracedKernels, KeepOInFp32InHbm) {
  ATTNSCOPE_NEEDS_GPU();
  const ResolvedRun run = test::kernel_run("flash1", problem_of(64, 300, 409), PassKind::forward,
                                           std::nullopt, Carry::fp32);
  expect_schedule(run);
  expect_plain_output(run);
  expect_states(run);
}

}  // namespace
}  // namespace attnscope::kernels
