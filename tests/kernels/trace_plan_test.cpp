/// Which instrumented builds there are: what they take, what is said where there is none, and what
/// their steps are called.
#include "kernels/trace/trace_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/compiled_tilings.h"
#include "kernels/trace/trace_steps.h"
#include "tests/support/kernel_run.h"
#include "tests/support/listed_block_mask.h"

namespace attnscope {
namespace {

using test::kernel_run;
using ::testing::HasSubstr;

TEST(TracePlan, NamesTheBuildsThatThereAre) {
  AttentionProblem problem;
  problem.N = problem.N_kv = 100;
  problem.d = 64;
  problem.dtype = DType::fp16;
  const auto refused = kernels::plan_trace(kernel_run("flash1", problem), 0);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(words(refused.error(), Reader::file), HasSubstr("head_dim 16 in 16x16 tiles"));
  EXPECT_EQ(refused.error().message.find('\n'), std::string::npos);

  problem.d = 16;
  problem.dtype = DType::fp32;
  for (const char* name : {"flash1", "flash2"}) {
    const kernels::KernelInfo& kernel = *kernels::find_kernel(name);
    const auto in_fp32 = kernels::plan_trace(kernel_run(name, problem), 32);
    ASSERT_TRUE(in_fp32.ok()) << in_fp32.error().message;
    EXPECT_EQ(in_fp32.value().rows_per_head, 4);
    const std::vector<Tiling> in_32 = kernels::kernel_tilings(kernel, DType::fp32, 16);
    EXPECT_THAT(in_32, ::testing::Contains(in_fp32.value().tiling));
  }

  problem.d = 64;
  problem.dtype = DType::bf16;
  const auto plan = kernels::plan_trace(kernel_run("flash1", problem), 32);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan.value().tiling, (Tiling{128, 256}));
  EXPECT_EQ(plan.value().blocks, 1);
  EXPECT_EQ(plan.value().rows_per_head, 4);
  problem.heads = problem.kv_heads = 64;
  problem.N = problem.N_kv = 65536;
  EXPECT_FALSE(kernels::plan_trace(kernel_run("flash1", problem), 0).ok());
}

TEST(TracePlan, TakesABlockMaskInTheTilesOfItsBuild) {
  AttentionProblem problem;
  problem.N = problem.N_kv = 64;
  problem.d = 16;
  problem.dtype = DType::bf16;
  problem.block_mask = test::listed_block_mask({16, 16}, 4, {{0, 2}, {}, {2}, {3}});
  for (const PassKind pass : {PassKind::forward, PassKind::backward}) {
    const auto plan = kernels::plan_trace(kernel_run("block_sparse2", problem, pass), 0);
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    EXPECT_EQ(plan.value().tiling, (Tiling{16, 16}));
    EXPECT_EQ(plan.value().blocks, 4);
  }
  problem.block_mask = test::listed_block_mask({32, 32}, 2, {{0}, {1}});
  const auto refused = kernels::plan_trace(kernel_run("block_sparse2", problem), 0);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(words(refused.error(), Reader::file), HasSubstr("at head_dim 16 in 32x32 tiles"));
}

TEST(TracePlan, TakesBlockMasksInFlash2sTilesToo) {
  AttentionProblem problem;
  problem.N = problem.N_kv = 256;
  problem.dtype = DType::bf16;
  const auto plan = [&](PassKind pass) {
    return kernels::plan_trace(kernel_run("block_sparse2", problem, pass), 64);
  };
  problem.d = 64;
  problem.block_mask = test::listed_block_mask({128, 128}, 2, {{0, 1}, {1}});
  for (const PassKind pass : {PassKind::forward, PassKind::backward}) {
    ASSERT_TRUE(plan(pass).ok()) << plan(pass).error().message;
    EXPECT_EQ(plan(pass).value().blocks, 2);
    EXPECT_EQ(plan(pass).value().rows_per_head, pass == PassKind::forward ? 4 : 0);
  }
  problem.d = 128;
  problem.block_mask = test::listed_block_mask({128, 64}, 4, {{0, 3}, {1}});
  EXPECT_TRUE(plan(PassKind::forward).ok());
  EXPECT_FALSE(plan(PassKind::backward).ok());
  problem.block_mask = test::listed_block_mask({64, 128}, 2, {{0}, {1}, {}, {0, 1}});
  EXPECT_FALSE(plan(PassKind::forward).ok());
  EXPECT_TRUE(plan(PassKind::backward).ok());
}

TEST(TracePlan, KeepsEachWarpsRowsWhereWarpsShareARowsKeys) {
  AttentionProblem problem;
  problem.N = 20;
  problem.N_kv = 1000;
  problem.d = 64;
  problem.heads = problem.kv_heads = 2;
  problem.dtype = DType::bf16;
  const auto plan = kernels::plan_trace(kernel_run("split_kv", problem), 7);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan.value().row_parts, 4);
  EXPECT_EQ(plan.value().rows(), 4 * 2 * 3 * 8);  // warps, heads, rows 0, 7, 14, tiles of 128 keys
  const auto none = kernels::plan_trace(kernel_run("split_kv", problem), 0);
  EXPECT_EQ(none.value().rows(), 0);
}

TEST(TracePlan, HasScoreFunctionsAtOneHeadDimension) {
  AttentionProblem problem;
  problem.N = problem.N_kv = 300;
  problem.d = 64;
  problem.dtype = DType::bf16;
  problem.mask = Mask::window(100, 0);
  const auto message = [&](std::string_view name, PassKind pass) {
    const auto plan = kernels::plan_trace(kernel_run(name, problem, pass), 0);
    return plan ? std::string("accepted") : words(plan.error(), Reader::file);
  };
  for (const PassKind pass : {PassKind::forward, PassKind::backward}) {
    for (const char* name : {"flash1", "flash2", "block_sparse2"}) {
      problem.d = 64;
      EXPECT_EQ(message(name, pass), "accepted");
      problem.d = 16;
      EXPECT_THAT(message(name, pass), HasSubstr("with mask window:100,0 there is bf16 at head_dim "
                                                 "64 in"));
    }
  }
  EXPECT_THAT(message("split_kv", PassKind::forward), HasSubstr("takes plain softmax attention"));
  EXPECT_THAT(message("standard", PassKind::forward),
              HasSubstr("flash1, flash2, block_sparse2 and split_kv have some"));
}

TEST(TracePlan, EveryTracedTilingIsAKernels) {
  for (const kernels::KernelInfo& kernel : kernels::catalog()) {
    for (const PassKind pass : {PassKind::forward, PassKind::backward}) {
      const bool in_fp32 =
          kernel.name == "flash2" || (kernel.name == "flash1" && pass == PassKind::forward);
      EXPECT_EQ(kernels::traced_tilings(kernel, pass, DType::fp32, 16).size(), in_fp32 ? 1u : 0u);
      EXPECT_TRUE(kernels::traced_tilings(kernel, pass, DType::fp32, 64).empty());
    }
    EXPECT_EQ(kernels::traced_tilings(kernel, PassKind::forward, DType::fp16, 16),
              kernels::traced_tilings(kernel, PassKind::forward, DType::bf16, 16));
    for (const Index d : {16, 32, 64, 128}) {
      for (const bool scored : {false, true}) {
        AttentionProblem problem{.d = d, .dtype = DType::bf16};
        if (scored) problem.score.soft_cap = 30;
        for (const Tiling& tiling :
             kernels::traced_tilings(kernel, PassKind::forward, DType::bf16, d, scored)) {
          EXPECT_THAT(kernels::kernel_tilings(kernel, problem), ::testing::Contains(tiling));
        }
        for (const Tiling& tiling :
             kernels::traced_tilings(kernel, PassKind::backward, DType::bf16, d, scored)) {
          EXPECT_THAT(kernels::backward_tilings(kernel, problem), ::testing::Contains(tiling));
        }
      }
    }
  }
}

TEST(TraceSteps, HaveNamesOfTheirOwn) {
  std::vector<std::string> names;
  names.reserve(kernels::kTraceStepCount);
  for (int step = 0; step < kernels::kTraceStepCount; ++step) {
    names.emplace_back(kernels::step_name(static_cast<kernels::TraceStep>(step)));
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

}  // namespace
}  // namespace attnscope
