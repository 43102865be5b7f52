/// Which runs can be traced, how large their traces are, and the names of their steps.
#include "kernels/measure/trace/trace_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "kernels/default_tilings.h"
#include "kernels/measure/trace/trace_steps.h"
#include "kernels/run_programs.h"
#include "tests/kernels/knob_cases.h"
#include "tests/support/kernel_run.h"
#include "tests/support/listed_block_mask.h"

namespace attnscope {
namespace {

using test::kernel_run;
using ::testing::HasSubstr;

TEST(TracePlan, TakesAnyPrecisionAndTiling) {
  AttentionProblem problem;
  problem.N = problem.N_kv = 100;
  for (const DType dtype : {DType::fp32, DType::fp16, DType::bf16}) {
    for (const Index d : {16, 40, 64, 256}) {
      problem.d = d;
      problem.dtype = dtype;
      for (const char* name : {"flash1", "flash2"}) {
        const ResolvedRun run = kernel_run(name, problem);
        const auto plan = kernels::plan_trace(run, 32, {});
        ASSERT_TRUE(plan.ok()) << plan.error().message;
        EXPECT_EQ(plan.value().rows_per_head, 4);
        EXPECT_EQ(plan.value().tiling,
                  kernels::default_tilings(*kernels::find_kernel(name), PassKind::forward, problem)
                      .front());
      }
    }
  }
  problem.d = 64;
  const auto plan = kernels::plan_trace(kernel_run("flash1", problem), 32, {});
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan.value().tiling, (Tiling{128, 256}));
  EXPECT_EQ(plan.value().blocks, 1);
  constexpr Index kAda = Index{99} * 1024;
  const ResolvedRun wide = kernel_run("flash1", problem, PassKind::forward, {}, Carry::fp32);
  EXPECT_EQ(kernels::plan_trace(wide, 32, {"", kAda}).value().tiling, (Tiling{128, 128}));
  problem.heads = problem.kv_heads = 64;
  problem.N = problem.N_kv = 65536;
  EXPECT_FALSE(kernels::plan_trace(kernel_run("flash1", problem), 0, {}).ok());
}

TEST(TracePlan, TakesABlockMaskInItsTiles) {
  AttentionProblem problem;
  problem.N = problem.N_kv = 64;
  problem.d = 16;
  problem.dtype = DType::bf16;
  problem.block_mask = test::listed_block_mask({16, 16}, 4, {{0, 2}, {}, {2}, {3}});
  for (const PassKind pass : {PassKind::forward, PassKind::backward}) {
    const auto plan = kernels::plan_trace(kernel_run("block_sparse2", problem, pass), 0, {});
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    EXPECT_EQ(plan.value().tiling, (Tiling{16, 16}));
    EXPECT_EQ(plan.value().blocks, 4);
  }
  problem.block_mask = test::listed_block_mask({32, 32}, 2, {{0}, {1}});
  const auto wider = kernels::plan_trace(kernel_run("block_sparse2", problem), 0, {});
  ASSERT_TRUE(wider.ok()) << wider.error().message;
  EXPECT_EQ(wider.value().blocks, 2);
}

TEST(TracePlan, TakesBlockMasksInFlash2sTilesToo) {
  AttentionProblem problem;
  problem.N = problem.N_kv = 256;
  problem.dtype = DType::bf16;
  const auto plan = [&](PassKind pass) {
    return kernels::plan_trace(kernel_run("block_sparse2", problem, pass), 64, {});
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
  EXPECT_TRUE(plan(PassKind::backward).ok());
  problem.block_mask = test::listed_block_mask({64, 128}, 2, {{0}, {1}, {}, {0, 1}});
  EXPECT_TRUE(plan(PassKind::forward).ok());
  EXPECT_TRUE(plan(PassKind::backward).ok());
}

TEST(TracePlan, KeepsEachWarpsRowsWhereWarpsShareARowsKeys) {
  AttentionProblem problem;
  problem.N = 20;
  problem.N_kv = 1000;
  problem.d = 64;
  problem.heads = problem.kv_heads = 2;
  problem.dtype = DType::bf16;
  const auto plan = kernels::plan_trace(kernel_run("split_kv", problem), 7, {});
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan.value().row_parts, 4);
  EXPECT_EQ(plan.value().rows(), 4 * 2 * 3 * 8);  // warps, heads, rows 0, 7, 14, tiles of 128 keys
  const auto none = kernels::plan_trace(kernel_run("split_kv", problem), 0, {});
  EXPECT_EQ(none.value().rows(), 0);
}

TEST(TracePlan, KeepsEachWarpsRowsInFlash2WithSlicedKeys) {
  AttentionProblem problem;
  problem.N = problem.N_kv = 256;
  problem.d = 64;
  problem.dtype = DType::bf16;
  const auto parts = [&](const std::map<std::string, std::string>& switches) {
    ResolvedRun run = kernel_run("flash2", problem, PassKind::forward, Tiling{64, 128});
    run.asked.switches = switches;
    return kernels::plan_trace(run, 64, {}).value().row_parts;
  };
  EXPECT_EQ(parts({}), 1);
  EXPECT_EQ(parts({{"stages", "1"}}), 1);
  EXPECT_EQ(parts({{"partition", "sliced-k"}}), 4);
  EXPECT_EQ(parts({{"partition", "sliced-k"}, {"warps", "2"}}), 2);
}

TEST(TracePlan, NamesTheProgram) {
  AttentionProblem problem;
  problem.N = problem.N_kv = 256;
  problem.d = 64;
  problem.dtype = DType::bf16;
  ResolvedRun run = kernel_run("flash2", problem);
  EXPECT_EQ(kernels::plan_trace(run, 0, {"8.0"}).value().instructions, kernels::kTensorCores);
  EXPECT_EQ(kernels::plan_trace(run, 0, {"9.0"}).value().instructions, kernels::kHopper);
  run.asked.switches = {{"instructions", "mma"}};
  EXPECT_EQ(kernels::plan_trace(run, 0, {"9.0"}).value().instructions, kernels::kTensorCores);
}

/// Expects the traced launch to be the plain one with hooks, and all other launches to be the same.
void expect_plain_programs(const ResolvedRun& run, const kernels::ProgramTarget& gpu) {
  const auto plain = kernels::programs_of(run, gpu);
  const auto traced = kernels::programs_of(run, gpu, /*traced=*/true);
  ASSERT_EQ(plain.size(), traced.size());
  for (std::size_t n = 0; n < plain.size(); ++n) {
    kernels::BlockProgram block = traced[n].block;
    std::string& expression = block.program.expression;
    const std::string policy = "BlockTrace";
    const std::size_t at = expression.find(policy);
    if (at != std::string::npos) expression.replace(at, policy.size(), "NoTrace");
    EXPECT_EQ(block.program, plain[n].block.program);
    EXPECT_EQ(block.threads, plain[n].block.threads);
    EXPECT_EQ(block.shared_bytes, plain[n].block.shared_bytes);
    EXPECT_EQ(block.instructions, plain[n].block.instructions);
    const std::string_view launch = kernels::kernel_of(run).pass(run.pass()).launch;
    EXPECT_EQ(at != std::string::npos, traced[n].launch == launch);
  }
}

TEST(TracedPrograms, ArePlainOnesAtEveryValueOfEverySwitch) {
  AttentionProblem problem;
  problem.N = problem.N_kv = 300;
  problem.d = 64;
  problem.dtype = DType::bf16;
  for (const kernels::ProgramTarget& gpu : {kernels::ProgramTarget{"8.0"}, {"9.0"}}) {
    for (const kernels::KnobCase& each : kernels::knob_cases()) {
      std::ostringstream name;
      name << each << " on " << gpu.compute_capability;
      SCOPED_TRACE(name.str());
      ResolvedRun in_own_tiles = kernel_run(each.kernel->name, problem, each.pass);
      in_own_tiles.asked.switches = {{each.name, each.value}};
      int compared = 0;
      for (const ResolvedRun& asked : {kernels::run_of(each, problem, gpu), in_own_tiles}) {
        const ResolvedRun run = kernels::run_on_gpu(asked, gpu);
        if (kernels::supports(run, gpu) || kernels::check_program(run, gpu)) continue;
        expect_plain_programs(run, gpu);
        ++compared;
      }
      const bool has_switch =
          !kernels::find_knob(each.name)->hopper_only || gpu.has_hopper_instructions();
      EXPECT_EQ(compared > 0, has_switch);
    }
  }
}

TEST(TracePlan, TakesScoreFunctionsAndNoCublas) {
  AttentionProblem problem;
  problem.N = problem.N_kv = 300;
  problem.dtype = DType::bf16;
  problem.mask = Mask::window(100, 0);
  for (const kernels::KernelInfo& kernel : kernels::catalog()) {
    for (const PassKind pass : {PassKind::forward, PassKind::backward}) {
      if (pass == PassKind::backward && !kernel.has_backward()) continue;
      const auto plan = kernels::plan_trace(kernel_run(kernel.name, problem, pass), 0, {});
      EXPECT_EQ(plan.ok(), kernel.name != "standard") << kernel.name;
      if (plan) continue;
      EXPECT_EQ(plan.error().field, "algorithm");
      EXPECT_THAT(words(plan.error(), Reader::file),
                  HasSubstr("flash1, flash2, block_sparse2 and split_kv have one"));
    }
  }
}

TEST(TraceSteps, HaveUniqueNames) {
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
