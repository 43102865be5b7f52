/// flash2's forward pass with Hopper's own instructions against the reference, by the tolerance
/// rule.
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>

#include "kernels/catalog.h"
#include "kernels/host/cuda_check.h"
#include "kernels/host/hopper.h"
#include "kernels/resolve.h"
#include "kernels/run_programs.h"
#include "reference/block_pattern.h"
#include "tests/kernels/hopper_program.h"
#include "tests/kernels/reference_check.h"
#include "tests/kernels/score_features.h"
#include "tests/kernels/sizes.h"
#include "tests/support/kernel_run.h"

namespace attnscope::kernels {
namespace {

class HopperForward : public HopperProgram {
 protected:
  ForwardCase forward_case() const {
    return {.kernel = find_kernel("flash2"), .tiling = GetParam().tiling};
  }
  /// Whether its tiles leave room for the data of the problem's score features.
  static bool fits(const AttentionProblem& problem) {
    return has_hopper_program(
        test::kernel_run("flash2", problem, PassKind::forward, GetParam().tiling), {});
  }
  /// Expects that the run uses the program, and that its O and LSE are correct.
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
  if (current_gpu().compute_capability != kHopperComputeCapability) GTEST_SKIP() << "no Hopper"

/// Problems of one whole tile, then of many.
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
      if (supports(run)) continue;  // three stages of a large tile do not fit
      SCOPED_TRACE(std::string(name) + "=" + std::string(value.name));
      check(of, switched, 82);
    }
  }
}

/// More row tiles than SMs: a block computes several, of several heads and batch entries.
TEST_P(HopperForward, ComputesRowTileAfterRowTile) {
  ATTNSCOPE_NEEDS_HOPPER();
  for (const Mask& mask : {Mask::none(), Mask::causal()}) {
    for (const Size& size : {Size{1100, 1100}, {1300, 260}, {1100, 1}}) {
      AttentionProblem many = problem(size, mask);
      many.batch = 3;
      many.heads = 18;
      many.kv_heads = 6;
      check(many, forward_case(), 83);
    }
  }
}

TEST_P(HopperForward, TakesEveryScoreFeatureAtEverySize) {
  ATTNSCOPE_NEEDS_HOPPER();
  std::uint64_t seed = 100;
  for (const NamedFeatures& named : kFeatures) {
    for (const Size& size :
         {Size{1, 239}, {799, 3}, {113, 203}, {256, 512}, {300, 140}, {384, 384}}) {
      AttentionProblem scored = problem(size, Mask::none());
      scored.kv_heads = 2;
      for (const Feature feature : named.features) feature(scored);
      if (!fits(scored)) continue;
      SCOPED_TRACE(std::string(named.name) + ", " + describe(scored));
      check(scored, forward_case(), seed++);
    }
  }
}

TEST_P(HopperForward, TakesScoreFeaturesInRowTileAfterRowTile) {
  ATTNSCOPE_NEEDS_HOPPER();
  for (const NamedFeatures& named : kFeatures) {
    AttentionProblem scored = problem({700, 700}, Mask::none());
    scored.heads = 24;
    scored.kv_heads = 8;
    for (const Feature feature : named.features) feature(scored);
    if (!fits(scored)) continue;
    SCOPED_TRACE(named.name);
    check(scored, forward_case(), 120);
  }
}

/// Keys and values beyond the key lengths, where P is 0, are NaN: bulk copies load them.
TEST_P(HopperForward, TakesNoPartOfPadding) {
  ATTNSCOPE_NEEDS_HOPPER();
  for (const Mask& mask : {Mask::none(), Mask::causal()}) {
    AttentionProblem padded = problem({300, 460}, mask);
    padded.key_lengths = {401, 150};
    if (!fits(padded)) continue;
    AttentionInputs inputs = make_inputs(padded, {.seed = 84});
    const ForwardResult reference = naive_forward(padded, inputs);
    for (Index batch = 0; batch < padded.batch; ++batch) {
      for (Index head = 0; head < padded.kv_heads; ++head) {
        const Index first = (batch * padded.kv_heads + head) * padded.N_kv;
        for (Index row = padded.key_lengths[static_cast<std::size_t>(batch)]; row < padded.N_kv;
             ++row) {
          for (Index column = 0; column < padded.d; ++column) {
            const auto at = static_cast<std::size_t>((first + row) * padded.d + column);
            inputs.K.data[at] = inputs.V.data[at] = std::numeric_limits<double>::quiet_NaN();
          }
        }
      }
    }
    check_forward(forward_case(), padded, inputs, reference);
  }
}

TEST_P(HopperForward, VisitsTheTilesOfABlockMask) {
  ATTNSCOPE_NEEDS_HOPPER();
  const KernelInfo* const sparse = find_kernel("block_sparse2");
  for (const Mask& mask : {Mask::none(), Mask::causal()}) {
    AttentionProblem masked = problem({700, 900}, mask);
    masked.heads = masked.kv_heads = 24;
    const BlockPattern pattern = parse_block_pattern("random:0.6,3").value();
    masked.block_mask = make_block_mask(pattern, masked.N, masked.N_kv, GetParam().tiling).value();
    const ResolvedRun run =
        test::kernel_run("block_sparse2", masked, PassKind::forward, GetParam().tiling);
    ASSERT_TRUE(has_hopper_program(run, {}));
    const AttentionInputs inputs = make_inputs(masked, {.seed = 85});
    check_forward({.kernel = sparse, .tiling = GetParam().tiling}, masked, inputs,
                  naive_forward(masked, inputs));
  }
}

TEST_P(HopperForward, ComesToTheSameBitsEveryTime) {
  ATTNSCOPE_NEEDS_HOPPER();
  for (const Mask& mask : {Mask::none(), Mask::causal()}) {
    AttentionProblem many = problem({300, 460}, mask);
    many.heads = many.kv_heads = 40;
    ForwardCase repeated = forward_case();
    repeated.runs = kRepeats;
    EXPECT_EQ(run_forward(repeated, many, make_inputs(many, {.seed = 86})).runs_of_other_bits, 0);
  }
}

/// Ten thousand launches each of two small odd-sized problems all end.
TEST(HopperForwardRuns, NeverHang) {
  ATTNSCOPE_NEEDS_HOPPER();
  AttentionProblem odd{.batch = 1,
                       .heads = 3,
                       .kv_heads = 3,
                       .N = 197,
                       .N_kv = 331,
                       .dtype = DType::bf16,
                       .mask = Mask::causal()};
  for (const auto& [d, tiling] : {std::pair{128, Tiling{128, 128}}, {64, Tiling{256, 64}}}) {
    odd.d = d;
    const ForwardCase forward_case{
        .kernel = find_kernel("flash2"), .tiling = tiling, .runs = 10'000};
    EXPECT_EQ(run_forward(forward_case, odd, make_inputs(odd, {.seed = 87})).runs_of_other_bits, 0)
        << tiling.Br << " x " << tiling.Bc;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Each, HopperForward,
    ::testing::Values(HopperInstance{128, {64, 128}}, HopperInstance{128, {128, 128}},
                      HopperInstance{128, {128, 176}}, HopperInstance{128, {128, 128}, DType::fp16},
                      HopperInstance{64, {64, 128}}, HopperInstance{64, {128, 176}},
                      HopperInstance{64, {192, 128}}, HopperInstance{64, {192, 128}, DType::fp16},
                      HopperInstance{64, {256, 64}}, HopperInstance{64, {256, 64}, DType::fp16},
                      HopperInstance{96, {128, 128}}, HopperInstance{192, {128, 112}},
                      HopperInstance{256, {128, 80}}, HopperInstance{72, {128, 128}}));

}  // namespace
}  // namespace attnscope::kernels
