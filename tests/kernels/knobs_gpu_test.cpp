/// With every value of every switch, kernels agree with the reference by the tolerance rule.
#include <gtest/gtest.h>

#include <cstdlib>

#include "kernels/catalog.h"
#include "kernels/knobs.h"
#include "kernels/resolve.h"
#include "tests/kernels/knob_cases.h"
#include "tests/kernels/reference_check.h"
#include "tests/kernels/score_features.h"
#include "tests/support/kernel_run.h"

namespace attnscope::kernels {
namespace {

AttentionProblem problem_with(Index d, std::initializer_list<Feature> features) {
  AttentionProblem problem{
      .batch = 2, .heads = 4, .kv_heads = 2, .N = 300, .N_kv = 460, .d = d, .dtype = DType::bf16};
  for (const Feature feature : features) feature(problem);
  return problem;
}

class KnobsOfKernels : public ::testing::TestWithParam<KnobCase> {};

TEST_P(KnobsOfKernels, AgreeWithTheReference) {
  ATTNSCOPE_NEEDS_GPU();
  const auto& [kernel, pass, name, value] = GetParam();
  const ProgramTarget gpu = current_gpu();
  if (find_knob(name)->hopper_only && !gpu.has_hopper_instructions()) GTEST_SKIP() << "no Hopper";
  const AttentionProblem problems[] = {problem_with(64, {}), problem_with(128, {add_causal}),
                                       problem_with(96, {add_window, add_soft_cap})};
  int computed = 0;
  for (const AttentionProblem& problem : problems) {
    const ResolvedRun run = run_of(GetParam(), problem, gpu);
    if (supports(run)) continue;
    ASSERT_FALSE(check_program(run, gpu)) << problem.d;
    ++computed;
    const AttentionInputs inputs = make_inputs(problem, {.seed = 77});
    const ForwardResult reference = naive_forward(problem, inputs);
    if (pass == PassKind::forward) {
      check_forward(
          {.kernel = kernel, .tiling = run.asked.tiling(), .switches = run.asked.switches}, problem,
          inputs, reference);
    } else {
      check_backward({.kernel = kernel, .switches = run.asked.switches}, problem, inputs,
                     reference);
    }
  }
  EXPECT_GE(computed, name == "warps" ? 1 : 2);
}

TEST(HiddenTiles, ChangeNoResult) {
  ATTNSCOPE_NEEDS_GPU();
  const KernelInfo* const kernel = find_kernel("flash2");
  for (const AttentionProblem& problem :
       {problem_with(64, {add_causal}), problem_with(128, {add_causal}),
        problem_with(96, {add_window, add_soft_cap}),
        problem_with(64, {add_key_lengths, add_causal})}) {
    const AttentionInputs inputs = make_inputs(problem, {.seed = 78});
    const ForwardResult reference = naive_forward(problem, inputs);
    check_forward({.kernel = kernel, .visit_hidden = true}, problem, inputs, reference);
    check_backward({.kernel = kernel, .visit_hidden = true}, problem, inputs, reference);
    check_backward({.kernel = kernel, .switches = {{"instructions", "mma"}}, .visit_hidden = true},
                   problem, inputs, reference);
  }
}

INSTANTIATE_TEST_SUITE_P(Each, KnobsOfKernels, ::testing::ValuesIn(knob_cases()));

}  // namespace
}  // namespace attnscope::kernels
