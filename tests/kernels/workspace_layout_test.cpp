#include "kernels/workspace_layout.h"

#include <gtest/gtest.h>

#include "kernels/catalog.h"
#include "kernels/default_tilings.h"
#include "kernels/knobs.h"
#include "kernels/launch.h"
#include "kernels/resolve.h"
#include "kernels/run_programs.h"
#include "tests/support/kernel_run.h"

namespace attnscope::kernels {
namespace {

using test::kernel_run;

const AttentionProblem kProblem{
    .batch = 2, .heads = 4, .kv_heads = 2, .N = 100, .N_kv = 300, .d = 64, .dtype = DType::bf16};

TEST(Workspace, OfStandardHoldsSAndPAtOnce) {
  const WorkspaceLayout layout = standard_workspace({.problem = kProblem});
  constexpr std::size_t kScoreBytes = std::size_t{2} * 4 * 100 * 300 * 2;
  EXPECT_EQ(layout.offset(WorkspaceTensor::S), 0u);
  EXPECT_GE(layout.offset(WorkspaceTensor::P), kScoreBytes);
  EXPECT_EQ(layout.bytes(), 2 * layout.offset(WorkspaceTensor::P));
  EXPECT_LT(layout.bytes(), 2 * (kScoreBytes + kWorkspaceAlignment));
}

TEST(Workspace, OfStandardHoldsPAfterDropoutSeparately) {
  EXPECT_FALSE(standard_workspace({.problem = kProblem}).has(WorkspaceTensor::P_dropped));
  AttentionProblem dropped = kProblem;
  dropped.score.dropout.probability = 0.1;
  const WorkspaceLayout layout = standard_workspace({.problem = dropped});
  EXPECT_EQ(layout.offset(WorkspaceTensor::P_dropped), 2 * layout.offset(WorkspaceTensor::P));
  EXPECT_EQ(layout.bytes(), 3 * layout.offset(WorkspaceTensor::P));
}

TEST(Workspace, OfStandardsBackwardHoldsdPOnlyWhereSIsStillRead) {
  AttentionProblem problem = kProblem;
  problem.kv_heads = problem.heads;
  EXPECT_FALSE(standard_backward_workspace({.problem = problem}).has(WorkspaceTensor::dP));
  EXPECT_EQ(workspace_bytes(kernel_run("standard", problem, PassKind::backward)), 0u);
  problem.score.dropout.probability = 0.1;
  EXPECT_EQ(workspace_bytes(kernel_run("standard", problem, PassKind::backward)), 0u);
  problem.score.soft_cap = 30.0;
  EXPECT_TRUE(standard_backward_workspace({.problem = problem}).has(WorkspaceTensor::dP));
  EXPECT_EQ(workspace_bytes(kernel_run("standard", problem, PassKind::backward)),
            standard_workspace({.problem = problem}).offset(WorkspaceTensor::P));
}

TEST(Workspace, OfFlash1HoldsOOnlyForTheFp32Carry) {
  constexpr std::size_t kStatisticsBytes =
      std::size_t{2} * 3328;  // 2 x 4 x 100 floats, aligned to 256 bytes
  ResolvedRun run{.problem = kProblem};
  EXPECT_EQ(flash1_workspace(run).bytes(), kStatisticsBytes);
  EXPECT_FALSE(flash1_workspace(run).has(WorkspaceTensor::O));
  run.asked.variant.carry = Carry::fp32;
  const WorkspaceLayout fp32 = flash1_workspace(run);
  EXPECT_EQ(fp32.offset(WorkspaceTensor::O), kStatisticsBytes);
  EXPECT_EQ(fp32.bytes(), kStatisticsBytes + std::size_t{2} * 4 * 100 * 64 * 4);
  run.problem.d = 59;  // rows of whole 16-byte pieces: 60 floats
  EXPECT_GE(flash1_workspace(run).bytes(), kStatisticsBytes + std::size_t{2} * 4 * 100 * 60 * 4);
}

TEST(Workspace, IsAlignedWhateverTheSizes) {
  ResolvedRun odd{.problem = kProblem};
  odd.problem.N = 1;
  odd.problem.N_kv = 3;
  odd.asked.variant.carry = Carry::fp32;
  EXPECT_EQ(standard_workspace(odd).offset(WorkspaceTensor::P) % kWorkspaceAlignment, 0u);
  EXPECT_EQ(flash1_workspace(odd).offset(WorkspaceTensor::l) % kWorkspaceAlignment, 0u);
  EXPECT_EQ(flash1_workspace(odd).offset(WorkspaceTensor::O) % kWorkspaceAlignment, 0u);
}

TEST(Workspace, OfFlash2sBackwardHoldsEachQueryHeadsGradientsOnlyForGroups) {
  constexpr std::size_t kdQBytes =
      std::size_t{2} * 4 * 112 * 64 * 4;   // 100 rows: seven pieces of 16
  constexpr std::size_t kDBytes = 3328;    // 2 x 4 x 100 floats, aligned to 256 bytes
  constexpr std::size_t kTurnBytes = 512;  // 2 x 2 x 4 x 7 integers, aligned
  constexpr std::size_t kPerHeadBytes = std::size_t{2} * 4 * 300 * 64 * 2;
  const ResolvedRun run = kernel_run("flash2", kProblem, PassKind::backward);
  const WorkspaceLayout grouped = workspace_layout(run);
  EXPECT_EQ(grouped.offset(WorkspaceTensor::D), kdQBytes);
  EXPECT_EQ(grouped.offset(WorkspaceTensor::dQ_turns), kdQBytes + kDBytes);
  EXPECT_EQ(grouped.offset(WorkspaceTensor::dK_heads), kdQBytes + kDBytes + kTurnBytes);
  EXPECT_EQ(workspace_bytes(run), kdQBytes + kDBytes + kTurnBytes + 2 * kPerHeadBytes);
  AttentionProblem alone = kProblem;
  alone.kv_heads = alone.heads;
  EXPECT_EQ(workspace_bytes(kernel_run("flash2", alone, PassKind::backward)),
            kdQBytes + kDBytes + kTurnBytes);
}

TEST(Workspace, OfFlash2sForwardCountsTheTilesOfPersistentBlocks) {
  EXPECT_EQ(workspace_bytes(kernel_run("flash2", kProblem)), kWorkspaceAlignment);
  ResolvedRun other = kernel_run("flash2", kProblem);
  other.asked.switches[kInstructionsKnob] = "mma";
  EXPECT_EQ(workspace_bytes(other), 0u);
}

/// GPUs differ in their default tilings: those with less shared memory have smaller tiles of keys,
/// which split_kv cuts into more splits.
TEST(Workspace, WithoutATilingIsLargeEnoughForEveryGpu) {
  const ProgramTarget targets[] = {{"8.0", Index{163} * 1024},
                                   {"8.6", Index{99} * 1024},
                                   {"9.0"},
                                   {.compute_capability = "9.0", .bulk_copies = false}};
  AttentionProblem scored = kProblem;
  scored.d = 256;
  scored.mask = Mask::window(64, 64);
  scored.score.dropout.probability = 0.1;
  // Only with one stage do the Hopper program's tiles fit beside the data of the score features
  ResolvedRun one_stage = kernel_run("flash2", scored, PassKind::forward);
  one_stage.asked.switches = {{"stages", "1"}};
  EXPECT_GT(workspace_bytes(one_stage), 0u);
  int compared = 0, differing = 0;
  for (const KernelInfo& kernel : catalog()) {
    for (const PassKind pass : {PassKind::forward, PassKind::backward}) {
      for (const Index d : {16, 40, 64, 96, 128, 192, 256}) {
        AttentionProblem problem = kProblem;
        problem.d = d;
        problem.N_kv = 8192;
        const ResolvedRun run = kernel_run(kernel.name, problem, pass);
        if (supports(run)) continue;
        for (const ProgramTarget& target : targets) {
          const std::size_t needed = workspace_layout(run_on_gpu(run, target)).bytes();
          EXPECT_LE(needed, workspace_bytes(run)) << kernel.name << " " << d;
          ++compared;
          differing += needed < workspace_bytes(run) ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GT(compared, 200);
  EXPECT_GT(differing, 0);
}

}  // namespace
}  // namespace attnscope::kernels
