/// flash2's backward pass with Hopper's own instructions against the reference, by the tolerance
/// rule.
#include <gtest/gtest.h>

#include <cstdlib>

#include "kernels/catalog.h"
#include "kernels/host/cuda_check.h"
#include "kernels/host/hopper.h"
#include "kernels/run_programs.h"
#include "reference/tolerance.h"
#include "tests/kernels/backward_run.h"
#include "tests/kernels/hopper_program.h"
#include "tests/kernels/sizes.h"
#include "tests/support/kernel_run.h"

namespace attnscope::kernels {
namespace {

class HopperBackward : public HopperProgram {
 protected:
  BackwardCase backward_case(bool deterministic = false) const {
    return {.kernel = find_kernel("flash2"),
            .tiling = GetParam().tiling,
            .deterministic = deterministic};
  }
  static void check_tensor(std::string_view name, const AttentionProblem& problem,
                           const AttentionInputs& inputs, const HeadTensor& ours,
                           const HeadTensor& yardstick, const HeadTensor& reference) {
    const Tolerance tolerance = gradient_tolerance(problem, inputs, yardstick.data, reference.data);
    const ErrorReport report = compare(ours.data, reference.data);
    EXPECT_TRUE(within(report, tolerance))
        << name << ": max error " << report.max_abs_error << " at " << report.worst_index
        << ", relative " << report.rel_fro_error << "; allowed: max error " << tolerance.max_abs;
  }
  /// Expects that the run uses the program, and that its gradients are correct.
  static void check(const AttentionProblem& problem, const BackwardCase& backward_case,
                    std::uint64_t seed = 1) {
    SCOPED_TRACE(describe(backward_case));
    ResolvedRun run = test::kernel_run("flash2", problem, PassKind::backward, backward_case.tiling);
    run.asked.deterministic = backward_case.deterministic;
    ASSERT_TRUE(has_hopper_program(run, knobs_of(run.asked)));
    const AttentionInputs inputs = make_inputs(problem, {.seed = seed});
    const ForwardResult forward = naive_forward(problem, inputs);
    const Gradients reference = naive_backward(problem, inputs, forward);
    const Gradients yardstick = unfused_backward(problem, inputs);
    const BackwardRun ran = run_backward(backward_case, problem, inputs, forward);
    EXPECT_TRUE(ran.padding_is_untouched);
    check_tensor("dQ", problem, inputs, ran.gradients.dQ, yardstick.dQ, reference.dQ);
    check_tensor("dK", problem, inputs, ran.gradients.dK, yardstick.dK, reference.dK);
    check_tensor("dV", problem, inputs, ran.gradients.dV, yardstick.dV, reference.dV);
  }
};

#define ATTNSCOPE_NEEDS_HOPPER() \
  ATTNSCOPE_NEEDS_GPU();         \
  if (current_gpu().compute_capability != kHopperComputeCapability) GTEST_SKIP() << "no Hopper"

/// Problems of one whole tile, then of many.
TEST_P(HopperBackward, IsRightInWholeTiles) {
  ATTNSCOPE_NEEDS_HOPPER();
  const auto [Br, Bc] = GetParam().tiling;
  for (const Size& size : {Size{Br, Bc}, {2 * Br, Bc}, {3 * Br, Bc}, {8 * Br, 3 * Bc}}) {
    check(problem(size, Mask::none()), backward_case());
  }
}

TEST_P(HopperBackward, IsRightAtEverySize) {
  ATTNSCOPE_NEEDS_HOPPER();
  at_sizes(kSizes, 20, [&](const Size& size, const Mask& mask, std::uint64_t seed) {
    check(problem(size, mask), backward_case(), seed);
  });
}

TEST_P(HopperBackward, IsRightUnderATopLeftCausalMask) {
  ATTNSCOPE_NEEDS_HOPPER();
  for (const Size& size : {Size{113, 203}, {512, 256}, {1, 147}, {239, 1}}) {
    check(problem(size, Mask::causal(Mask::Alignment::top_left)), backward_case(), 60);
  }
}

TEST_P(HopperBackward, IsRightInLongSequences) {
  ATTNSCOPE_NEEDS_HOPPER();
  for (const Mask& mask : {Mask::none(), Mask::causal()}) {
    AttentionProblem of_long = problem({1025, 1025}, mask);
    of_long.batch = 1;
    of_long.heads = of_long.kv_heads = 2;
    check(of_long, backward_case(), 70);
    check(of_long, backward_case(true), 70);
  }
}

TEST_P(HopperBackward, SharesKeysAmongGroupedHeads) {
  ATTNSCOPE_NEEDS_HOPPER();
  AttentionProblem grouped = problem({300, 460}, Mask::causal());
  for (const Index kv_heads : {1, 2}) {
    grouped.kv_heads = kv_heads;
    check(grouped, backward_case(), 80);
  }
}

TEST_P(HopperBackward, TakesTensorsWithStrides) {
  ATTNSCOPE_NEEDS_HOPPER();
  BackwardCase strided = backward_case();
  strided.layout = Layout::interleaved;
  check(problem({300, 460}, Mask::causal()), strided, 81);
}

TEST_P(HopperBackward, VisitsHiddenTilesWhereThatIsAsked) {
  ATTNSCOPE_NEEDS_HOPPER();
  for (const bool deterministic : {false, true}) {
    BackwardCase hidden = backward_case(deterministic);
    hidden.visit_hidden = true;
    check(problem({300, 460}, Mask::causal()), hidden, 83);
  }
}

TEST_P(HopperBackward, AddsQueryGradientsInAFixedOrderWhereThatIsAsked) {
  ATTNSCOPE_NEEDS_HOPPER();
  for (const Mask& mask : {Mask::none(), Mask::causal()}) {
    const AttentionProblem repeated = problem({777, 1100}, mask);
    BackwardCase fixed = backward_case(true);
    check(repeated, fixed, 84);
    fixed.passes = 250;
    const AttentionInputs inputs = make_inputs(repeated, {.seed = 84});
    const BackwardRun run = run_backward(fixed, repeated, inputs, naive_forward(repeated, inputs));
    EXPECT_EQ(run.passes_of_other_dQ, 0);
    EXPECT_EQ(run.passes_of_other_dK_dV, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Each, HopperBackward,
    ::testing::Values(HopperInstance{64, {128, 128}}, HopperInstance{64, {128, 128}, DType::fp16},
                      HopperInstance{56, {128, 128}}, HopperInstance{96, {64, 128}},
                      HopperInstance{80, {64, 128}}, HopperInstance{128, {64, 128}},
                      HopperInstance{128, {64, 128}, DType::fp16}, HopperInstance{104, {64, 128}},
                      HopperInstance{192, {64, 64}}, HopperInstance{160, {64, 64}},
                      HopperInstance{256, {64, 64}}, HopperInstance{256, {64, 64}, DType::fp16}));

}  // namespace
}  // namespace attnscope::kernels
