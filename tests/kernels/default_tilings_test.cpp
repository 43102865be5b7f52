/// The default tilings of a kernel, by GPU.
#include "kernels/default_tilings.h"

#include <gtest/gtest.h>

namespace attnscope::kernels {
namespace {

AttentionProblem problem_of(DType dtype, Index d) {
  return {.N = 1024, .N_kv = 1024, .d = d, .dtype = dtype};
}

TEST(DefaultTilings, HopperGetsTheTilingsOfItsProgramsWhereTheyRun) {
  const KernelInfo& flash2 = *find_kernel("flash2");
  const auto tiling = [&](const AttentionProblem& problem, const ProgramTarget& target,
                          const Knobs& knobs = {}) {
    return *default_tiling(flash2, PassKind::forward, problem, Carry::problem, target, knobs);
  };
  const AttentionProblem narrow = problem_of(DType::bf16, 64), tiny = problem_of(DType::bf16, 32);
  EXPECT_EQ(tiling(narrow, {"9.0"}), (Tiling{192, 128}));
  EXPECT_EQ(tiling(narrow, {"8.0"}), (Tiling{128, 128}));
  EXPECT_EQ(tiling(narrow, {"10.0"}), (Tiling{128, 128}));
  EXPECT_EQ(tiling(narrow, {.compute_capability = "9.0", .bulk_copies = false}),
            (Tiling{128, 128}));
  EXPECT_EQ(tiling(narrow, {"9.0"}, {.hopper = 0}), (Tiling{128, 128}));
  EXPECT_EQ(tiling(tiny, {"9.0"}), (Tiling{128, 64}));
  EXPECT_EQ(tiling(problem_of(DType::fp32, 64), {"9.0"}), (Tiling{64, 64}));
  EXPECT_EQ(tiling(problem_of(DType::bf16, 45), {"9.0"}), (Tiling{128, 128}));
  const auto backward = [&](const AttentionProblem& problem, const ProgramTarget& target) {
    return *default_tiling(flash2, PassKind::backward, problem, Carry::problem, target);
  };
  AttentionProblem wide = problem_of(DType::bf16, 256);
  EXPECT_EQ(backward(wide, {"9.0"}), (Tiling{64, 64}));
  EXPECT_EQ(backward(wide, {"8.0"}), (Tiling{32, 64}));
  wide.mask = Mask::window(64, 0);
  EXPECT_EQ(backward(wide, {"9.0"}), (Tiling{32, 64}));
}

}  // namespace
}  // namespace attnscope::kernels
