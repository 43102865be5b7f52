/// The instances of split_kv's kernels.
#include <gmock/gmock.h>

#include "kernels/catalog.h"
#include "kernels/default_tilings.h"
#include "kernels/score_shared.cuh"
#include "kernels/split_kv/split_kv_shared.cuh"
#include "tests/kernels/compile/compiled_block.h"

namespace attnscope::kernels {
namespace {

using ::testing::HasSubstr;

BlockProgram split_kv_partial_program(const AttentionProblem& problem, const Tiling& tiling,
                                      const LaunchKind& kind = {}) {
  return launch_program("partial", test::kernel_run("split_kv", problem, PassKind::forward, tiling),
                        kind);
}

BlockProgram split_kv_combine_program(const AttentionProblem& problem) {
  return launch_program("combine",
                        test::kernel_run("split_kv", problem, PassKind::forward, Tiling{16, 64}));
}

TEST(SplitKvBlock, HasFourWarpsAndSeveralTilesOnTheirWayInItsFirstTiling) {
  const KernelInfo& kernel = *find_kernel("split_kv");
  for (const Index d : {16, 32, 64, 96, 128, 192, 256}) {
    const auto tilings = default_tilings(kernel, PassKind::forward, problem_of(d, Mask::none()));
    EXPECT_EQ(split_kv_warps(tilings.front()), 4) << d;
    EXPECT_EQ(split_kv_stages(d, tilings.front()), d <= 128 ? 4 : 3) << d;
    for (const Tiling& smaller : tilings) {
      EXPECT_EQ(smaller.Br, kSplitRows);
      EXPECT_GE(split_kv_stages(d, smaller), 3) << d;
    }
  }
  EXPECT_EQ(split_kv_shared_bytes(64, {16, 128}), 16 * 64 * 2 + 4 * 2 * 128 * 64 * 2);
  EXPECT_EQ(split_kv_shared_bytes(256, {16, 64}), 16 * 256 * 2 + 3 * 2 * 64 * 256 * 2);
}

TEST(SplitKvBlock, SharesAnyMultipleOfSixteenKeysAmongItsWarps) {
  for (Index Bc = 16; Bc <= 256; Bc += 16) {
    const int warps = split_kv_warps({16, Bc});
    EXPECT_EQ(Bc % (16 * warps), 0) << Bc;
    EXPECT_GE(split_kv_stages(256, {16, Bc}), 2);
  }
  EXPECT_EQ(split_kv_warps({16, 16}), 1);
  EXPECT_EQ(split_kv_warps({16, 96}), 3);
  EXPECT_EQ(split_kv_warps({16, 80}), 5);
  EXPECT_EQ(split_kv_stages(256, {16, 128}), 2);
}

TEST(SplitKvPrograms, NameWhatTheProblemNeedsAndNoMore) {
  AttentionProblem problem = problem_of(64, Mask::none());
  const BlockProgram plain = split_kv_partial_program(problem, {16, 128});
  EXPECT_EQ(plain.program.expression,
            "attnscope::kernels::split_kv_partial<attnscope::kernels::device::Bf16, 64, 128, 4, 4, "
            "attnscope::kernels::device::Columns::all, attnscope::kernels::device::NoTrace, "
            "attnscope::kernels::ScoreFeatures{false, false, false, false}>");
  EXPECT_EQ(plain.threads, 128);
  EXPECT_EQ(plain.shared_bytes, split_kv_shared_bytes(64, {16, 128}));
  EXPECT_FALSE(plain.overlaps_launch_before);

  // Columns that do not exist are not read; d = 96 and wide tiles always check them
  for (const Index d : {80, 96, 192, 200, 256}) {
    problem.d = d;
    const auto block = split_kv_partial_program(problem, {16, 64});
    EXPECT_THAT(block.program.expression, HasSubstr("Columns::first")) << d;
  }

  problem = problem_of(16, *parse_mask("window:100"));
  problem.dtype = DType::fp16;
  const BlockProgram scored = split_kv_partial_program(problem, {16, 128}, {.traced = true});
  for (const char* part : {"Fp16, 64, 128, 4, 4,", "Columns::first", "BlockTrace",
                           "attnscope::kernels::ScoreFeatures{true, false, false, false}"}) {
    EXPECT_THAT(scored.program.expression, HasSubstr(part));
  }
  EXPECT_EQ(scored.shared_bytes, split_kv_shared_bytes(64, {16, 128}) +
                                     score_rows_shared_bytes({.key_ranges = true}, {16, 32}));

  const BlockProgram combine = split_kv_combine_program(problem);
  EXPECT_EQ(combine.program.expression,
            "attnscope::kernels::split_kv_combine<attnscope::kernels::device::Fp16, 128>");
  EXPECT_EQ(combine.threads, 128);
  EXPECT_EQ(combine.shared_bytes, 0);
  EXPECT_TRUE(combine.overlaps_launch_before);
}

class SplitKvInstances : public testing::TestWithParam<const char*> {};

TEST_P(SplitKvInstances, OfTheCatalogSpillNoRegister) {
  const KernelInfo& kernel = *find_kernel("split_kv");
  for (const Index d : {64, 128, 256}) {
    const AttentionProblem problem = problem_of(d, *parse_mask(GetParam()));
    for (const Tiling& tiling : default_tilings(kernel, PassKind::forward, problem)) {
      expect_no_spill(split_kv_partial_program(problem, tiling));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Masks, SplitKvInstances, testing::Values("causal", "window:256"));

TEST(SplitKvPrograms, AreCompiledTracedInOtherTilingsAndToCombine) {
  const AttentionProblem problem = problem_of(64, Mask::causal());
  expect_no_spill(split_kv_partial_program(problem, {16, 128}, {.traced = true}));
  for (const Index Bc : {80, 96}) {
    expect_no_spill(split_kv_partial_program(problem, {16, Bc}));
  }
  const CompiledKernel combine = compiled(split_kv_combine_program(problem));
  EXPECT_EQ(combine.resources.spill_stores, 0);
  EXPECT_GT(combine.resources.static_shared_bytes, 0);
}

}  // namespace
}  // namespace attnscope::kernels
