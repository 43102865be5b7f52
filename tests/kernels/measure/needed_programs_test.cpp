/// Every kernel that a run on a GPU will launch is known before the run begins.
#include "kernels/measure/needed_programs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "kernels/program_target.h"
#include "tests/support/kernel_run.h"
#include "tests/support/listed_block_mask.h"

namespace attnscope::kernels {
namespace {

using test::kernel_run;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr Index kAda = Index{99} * 1024;

AttentionProblem small_problem() {
  AttentionProblem problem;
  problem.N = problem.N_kv = 256;
  problem.d = 64;
  problem.dtype = DType::bf16;
  return problem;
}

/// The expressions of the needed programs, without their namespaces.
std::vector<std::string> needed(const ResolvedRun& run, RunUse use,
                                Index shared_bytes_per_block = kMostSharedBytes,
                                const char* compute_capability = "9.0") {
  std::vector<std::string> expressions;
  for (const KernelProgram& program :
       needed_programs(run, use, {compute_capability, shared_bytes_per_block})) {
    std::string& text = expressions.emplace_back(program.expression);
    for (const std::string_view prefix : {"attnscope::kernels::", "device::"}) {
      for (auto at = text.find(prefix); at != text.npos; at = text.find(prefix)) {
        text.erase(at, prefix.size());
      }
    }
  }
  return expressions;
}

TEST(NeededPrograms, OfTheForwardPassBeforeABackwardPassHaveNoSwitches) {
  ResolvedRun run = kernel_run("flash2", small_problem(), PassKind::backward, Tiling{32, 64});
  run.asked.switches = {{"swizzle", "off"}};
  const ResolvedRun forward = forward_before(run);
  EXPECT_EQ(forward.pass(), PassKind::forward);
  EXPECT_TRUE(forward.asked.switches.empty());
  EXPECT_FALSE(forward.asked.tiling());
}

TEST(NeededPrograms, OfAMeasuredBackwardPassBeginWithTheForwardPass) {
  EXPECT_THAT(
      needed(kernel_run("flash2", small_problem(), PassKind::backward), RunUse::measure),
      ElementsAre(HasSubstr("flash2_forward_hopper<Bf16, 64, 192, 128"),
                  HasSubstr("flash2_preprocess<"),
                  HasSubstr("flash2_backward_hopper<Bf16, 64, 128, 128"),
                  HasSubstr("flash2_convert_dq<"), HasSubstr("generate_inputs<Bf16"),
                  HasSubstr("occupy_stream<"), "read_sm_clocks", HasSubstr("sweep_cache<")));
  EXPECT_THAT(needed(kernel_run("standard", small_problem(), PassKind::backward), RunUse::run),
              ElementsAre(HasSubstr("softmax_forward"), HasSubstr("softmax_gradient"),
                          HasSubstr("occupy_stream<"), "read_sm_clocks"));
}

TEST(NeededPrograms, TakeTheTilingsOfTheGpu) {
  AttentionProblem problem = small_problem();
  problem.d = 128;
  const auto backward = kernel_run("flash2", problem, PassKind::backward);
  EXPECT_THAT(needed(backward, RunUse::run), Contains(HasSubstr("flash2_backward_hopper<")));
  const auto on_ada = needed(backward, RunUse::run, kAda, "8.9");
  EXPECT_THAT(on_ada, Contains(HasSubstr("flash2_backward<Bf16, 128, 32, 64")));
  EXPECT_THAT(on_ada, Not(Contains(HasSubstr("hopper"))));
  // A requested tiling is for the backward pass only
  const auto asked = kernel_run("flash2", problem, PassKind::backward, Tiling{32, 32});
  EXPECT_THAT(needed(asked, RunUse::run, kAda, "8.9"),
              AllOf(Contains(HasSubstr("flash2_backward<Bf16, 128, 32, 32")),
                    Contains(HasSubstr("flash2_forward<Bf16, 128, 128, 64"))));
}

TEST(NeededPrograms, OfATraceAreThePlainAndTheTracedLaunch) {
  for (const char* kernel : {"flash1", "flash2", "split_kv"}) {
    const auto programs = needed(kernel_run(kernel, small_problem()), RunUse::trace);
    EXPECT_THAT(programs, Contains(HasSubstr("BlockTrace"))) << kernel;
    EXPECT_THAT(programs, Contains(HasSubstr("NoTrace"))) << kernel;
    EXPECT_THAT(programs, Contains(HasSubstr("generate_inputs<"))) << kernel;
    EXPECT_THAT(needed(kernel_run(kernel, small_problem()), RunUse::measure),
                Not(Contains(HasSubstr("BlockTrace"))));
  }
}

TEST(NeededPrograms, GenerateNoInputsBesideAUsersTensors) {
  ResolvedRun run = kernel_run("flash2", small_problem());
  run.asked.files.Q = "q.npy";
  EXPECT_THAT(needed(run, RunUse::measure), Not(Contains(HasSubstr("generate_inputs<"))));
}

TEST(NeededPrograms, OfBlockSparseAttentionVisitListedTilesWithAndWithoutAMask) {
  AttentionProblem problem = small_problem();
  const auto listed = AllOf(HasSubstr("flash2_forward_hopper<"), HasSubstr("Visits::listed"));
  EXPECT_THAT(needed(kernel_run("block_sparse2", problem), RunUse::run), Contains(listed));
  problem.block_mask = test::listed_block_mask({128, 128}, 2, {{0}, {1}});
  EXPECT_THAT(needed(kernel_run("block_sparse2", problem), RunUse::run), Contains(listed));
}

}  // namespace
}  // namespace attnscope::kernels
