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
  EXPECT_EQ(tiling(narrow, {"9.0"}), (Tiling{256, 64}));
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

TEST(DefaultTilings, RowsThatSeeFewKeysGetFourConsumersAtWidth64) {
  const auto tiling = [](std::string_view kernel, Index N, Mask mask, Index d = 64) {
    const AttentionProblem problem{.N = N, .N_kv = N, .d = d, .dtype = DType::bf16, .mask = mask};
    return *default_tiling(*find_kernel(kernel), PassKind::forward, problem, Carry::problem,
                           {"9.0"});
  };
  const Tiling few{256, 64}, many{192, 128};
  EXPECT_EQ(tiling("flash2", 1024, Mask::none()), few);
  EXPECT_EQ(tiling("flash2", 1040, Mask::none()), many);
  EXPECT_EQ(tiling("flash2", 2048, Mask::causal()), few);
  EXPECT_EQ(tiling("flash2", 2064, Mask::causal()), many);
  EXPECT_EQ(tiling("flash2", 1024, Mask::none(), 128), (Tiling{128, 128}));
  // block_sparse2's tiling also sets the granularity of its block mask, so it does not depend on N
  EXPECT_EQ(tiling("block_sparse2", 1024, Mask::none()), many);
}

}  // namespace
}  // namespace attnscope::kernels
