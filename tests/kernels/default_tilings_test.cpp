/// The default tilings of a kernel, by GPU.
#include "kernels/default_tilings.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "kernels/resolve.h"
#include "tests/support/kernel_run.h"

namespace attnscope::kernels {
namespace {

AttentionProblem problem_of(DType dtype, Index d) {
  return {.N = 1024, .N_kv = 1024, .d = d, .dtype = dtype};
}

TEST(DefaultTilings, HopperGetsTheTilingsOfItsProgramsWhereTheyRun) {
  const auto tiling = [](const AttentionProblem& problem, const ProgramTarget& target,
                         const std::map<std::string, std::string>& switches = {}) {
    ResolvedRun run = test::kernel_run("flash2", problem);
    run.asked.switches = switches;
    return *default_tiling(run, target);
  };
  const AttentionProblem narrow = problem_of(DType::bf16, 64), tiny = problem_of(DType::bf16, 32);
  EXPECT_EQ(tiling(narrow, {"9.0"}), (Tiling{192, 128}));
  EXPECT_EQ(tiling(narrow, {"8.0"}), (Tiling{128, 128}));
  EXPECT_EQ(tiling(narrow, {"10.0"}), (Tiling{128, 128}));
  EXPECT_EQ(tiling(narrow, {.compute_capability = "9.0", .bulk_copies = false}),
            (Tiling{128, 128}));
  EXPECT_EQ(tiling(narrow, {"9.0"}, {{kInstructionsKnob, "mma"}}), (Tiling{128, 128}));
  EXPECT_EQ(tiling(tiny, {"9.0"}), (Tiling{128, 64}));
  EXPECT_EQ(tiling(problem_of(DType::fp32, 64), {"9.0"}), (Tiling{64, 64}));
  EXPECT_EQ(tiling(problem_of(DType::bf16, 45), {"9.0"}), (Tiling{128, 128}));
  const auto backward = [](const AttentionProblem& problem, const ProgramTarget& target) {
    return *default_tiling(test::kernel_run("flash2", problem, PassKind::backward), target);
  };
  AttentionProblem wide = problem_of(DType::bf16, 256);
  EXPECT_EQ(backward(wide, {"9.0"}), (Tiling{64, 64}));
  EXPECT_EQ(backward(wide, {"8.0"}), (Tiling{32, 64}));
  wide.mask = Mask::window(64, 0);
  EXPECT_EQ(backward(wide, {"9.0"}), (Tiling{32, 64}));
}

/// 132 SMs, each of which computes one row tile at a time: 256 rows take 1.4 times as long as 192.
TEST(DefaultTilings, FourConsumersAtWidth64WhereTheySaveWholeRounds) {
  const auto tiling = [](Index heads, Index N, Index sm_count = 132,
                         std::string_view kernel = "flash2") {
    AttentionProblem problem = problem_of(DType::bf16, 64);
    problem.heads = problem.kv_heads = heads;
    problem.N = problem.N_kv = N;
    return *default_tiling(test::kernel_run(kernel, problem),
                           {.compute_capability = "9.0", .sm_count = sm_count});
  };
  const Tiling four{256, 64}, three{192, 128};
  // 256 row tiles in two rounds instead of 384 in three
  EXPECT_EQ(tiling(64, 1024), four);
  // 88 in one, 132 in one
  EXPECT_EQ(tiling(22, 1024), three);
  EXPECT_EQ(tiling(1, 1024), three);
  // 2,048 in 16, 2,816 in 22
  EXPECT_EQ(tiling(128, 4096), three);
  // Eight rounds of 256 rows instead of 16 of 192
  EXPECT_EQ(tiling(1024, 256), four);
  // One row tile of either kind for each head, in whole tiles of 64 or 128 keys
  EXPECT_EQ(tiling(1024, 128), three);
  EXPECT_EQ(tiling(1024, 64), four);
  EXPECT_EQ(tiling(64, 1024, 96), three);  // 256 in three, 384 in four
  // block_sparse2's tiling also sets the granularity of its block mask
  EXPECT_EQ(tiling(64, 1024, 132, "block_sparse2"), three);
}

TEST(DefaultTilings, OfBothPassesAreThoseOfTheForwardPass) {
  for (const KernelInfo& kernel : catalog()) {
    for (const DType dtype : {DType::bf16, DType::fp32}) {
      const AttentionProblem problem = problem_of(dtype, 64);
      EXPECT_EQ(default_tilings(kernel, PassKind::both, problem),
                default_tilings(kernel, PassKind::forward, problem));
      EXPECT_EQ(hopper_tilings(kernel, PassKind::both, problem),
                hopper_tilings(kernel, PassKind::forward, problem));
    }
  }
  ResolvedRun run = test::kernel_run("flash2", problem_of(DType::bf16, 64), PassKind::both);
  run.problem.cu_seqlens_q = run.problem.cu_seqlens_k = {0, 100, 1024};
  EXPECT_FALSE(supports(run));
}

TEST(DefaultTilings, HopperTilingsAreThoseOfEveryLength) {
  const KernelInfo& flash2 = *find_kernel("flash2");
  EXPECT_EQ(hopper_tilings(flash2, PassKind::forward, problem_of(DType::bf16, 64)),
            (std::vector<Tiling>{{192, 128}, {256, 64}}));
  EXPECT_EQ(hopper_tilings(flash2, PassKind::forward, problem_of(DType::bf16, 128)),
            (std::vector<Tiling>{{128, 128}}));
  EXPECT_TRUE(hopper_tilings(flash2, PassKind::forward, problem_of(DType::fp32, 64)).empty());
  // It has no such pass
  EXPECT_TRUE(
      hopper_tilings(*find_kernel("split_kv"), PassKind::backward, problem_of(DType::bf16, 64))
          .empty());
  EXPECT_TRUE(hopper_tilings(*find_kernel("flash1"), PassKind::forward, problem_of(DType::bf16, 64))
                  .empty());
}

}  // namespace
}  // namespace attnscope::kernels
