/// flash2's forward pass in Hopper's own instructions against the reference, by the tolerance rule.
#include <gtest/gtest.h>

#include <cstdlib>

#include "kernels/host/cuda_check.h"
#include "kernels/host/hopper.h"
#include "kernels/resolve.h"
#include "tests/kernels/reference_check.h"
#include "tests/kernels/sizes.h"
#include "tests/support/kernel_run.h"

namespace attnscope::kernels {
namespace {

struct Instance {
  Index d;
  Tiling tiling;
  DType dtype = DType::bf16;
};

void PrintTo(const Instance& instance, std::ostream* out) {
  *out << to_string(instance.dtype) << " d" << instance.d << ' ' << instance.tiling.Br << 'x'
       << instance.tiling.Bc;
}

class HopperForward : public ::testing::TestWithParam<Instance> {
 protected:
  AttentionProblem problem(const Size& size, const Mask& mask) const {
    return {.batch = 2,
            .heads = 4,
            .kv_heads = 4,
            .N = size.first,
            .N_kv = size.second,
            .d = GetParam().d,
            .dtype = GetParam().dtype,
            .mask = mask};
  }
  ForwardCase forward_case() const {
    return {.kernel = find_kernel("flash2"), .tiling = GetParam().tiling};
  }
  /// The run takes the program, and its O and LSE are right.
  static void check(const AttentionProblem& problem, const ForwardCase& forward_case,
                    std::uint64_t seed = 1) {
    ResolvedRun run = test::kernel_run("flash2", problem, PassKind::forward, forward_case.tiling);
    run.asked.switches = forward_case.switches;
    ASSERT_TRUE(has_hopper_program(run, knobs_of(run.asked)));
    const AttentionInputs inputs = make_inputs(problem, {.seed = seed});
    check_forward(forward_case, problem, inputs, naive_forward(problem, inputs));
  }
};

#define ATTNSCOPE_NEEDS_HOPPER() \
  ATTNSCOPE_NEEDS_GPU();         \
  if (compute_capability() != kHopperComputeCapability) GTEST_SKIP() << "no Hopper"

/// One tile, whole; then many.
TEST_P(HopperForward, IsRightInWholeTiles) {
  ATTNSCOPE_NEEDS_HOPPER();
  const auto [Br, Bc] = GetParam().tiling;
  for (const Size& size : {Size{Br, Bc}, {Br, 2 * Bc}, {Br, 3 * Bc}, {3 * Br, 8 * Bc}}) {
    check(problem(size, Mask::none()), forward_case());
  }
}

TEST_P(HopperForward, IsRightAtEverySize) {
  ATTNSCOPE_NEEDS_HOPPER();
  at_sizes(kSizes, 20, [&](const Size& size, const Mask& mask, std::uint64_t seed) {
    check(problem(size, mask), forward_case(), seed);
  });
}

TEST_P(HopperForward, IsRightUnderATopLeftCausalMask) {
  ATTNSCOPE_NEEDS_HOPPER();
  for (const Size& size : {Size{113, 203}, {512, 256}, {1, 147}, {239, 1}}) {
    check(problem(size, Mask::causal(Mask::Alignment::top_left)), forward_case(), 60);
  }
}

TEST_P(HopperForward, IsRightInLongSequences) {
  ATTNSCOPE_NEEDS_HOPPER();
  at_sizes({{{1025, 1025}, {2048, 2048}}}, 70,
           [&](const Size& size, const Mask& mask, std::uint64_t seed) {
             check(problem(size, mask), forward_case(), seed);
           });
}

TEST_P(HopperForward, SharesKeysAmongGroupedHeads) {
  ATTNSCOPE_NEEDS_HOPPER();
  AttentionProblem grouped = problem({300, 460}, Mask::causal());
  for (const Index kv_heads : {1, 2}) {
    grouped.kv_heads = kv_heads;
    check(grouped, forward_case(), 80);
  }
}

TEST_P(HopperForward, TakesTensorsWithStrides) {
  ATTNSCOPE_NEEDS_HOPPER();
  ForwardCase strided = forward_case();
  strided.layout = Layout::interleaved;
  check(problem({300, 460}, Mask::causal()), strided, 81);
}

TEST_P(HopperForward, IsRightWithEverySwitch) {
  ATTNSCOPE_NEEDS_HOPPER();
  for (const std::string_view name : find_kernel("flash2")->forward.hopper_knobs) {
    for (const KnobValue& value : find_knob(name)->values.subspan(1)) {
      ForwardCase switched = forward_case();
      switched.switches = {{std::string(name), std::string(value.name)}};
      const AttentionProblem of = problem({300, 460}, Mask::causal());
      ResolvedRun run = test::kernel_run("flash2", of, PassKind::forward, switched.tiling);
      run.asked.switches = switched.switches;
      if (supports(run)) continue;  // three stages of a large tile
      SCOPED_TRACE(std::string(name) + "=" + std::string(value.name));
      check(of, switched, 82);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Each, HopperForward,
                         ::testing::Values(Instance{128, {64, 128}}, Instance{128, {128, 128}},
                                           Instance{128, {128, 176}},
                                           Instance{128, {128, 128}, DType::fp16},
                                           Instance{64, {64, 128}}, Instance{64, {128, 176}},
                                           Instance{64, {192, 128}},
                                           Instance{64, {192, 128}, DType::fp16},
                                           Instance{96, {128, 128}}, Instance{192, {128, 112}},
                                           Instance{256, {128, 80}}, Instance{72, {128, 128}}));

}  // namespace
}  // namespace attnscope::kernels
