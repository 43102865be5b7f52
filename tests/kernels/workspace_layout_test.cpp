#include "kernels/resolved_run.h"

#include <gtest/gtest.h>

#include "kernels/knobs.h"
#include "kernels/launch.h"
#include "kernels/workspace_layout.h"
#include "tests/support/kernel_run.h"

namespace attnscope::kernels {
namespace {

using test::kernel_run;

const AttentionProblem kProblem{
    .batch = 2, .heads = 4, .kv_heads = 2, .N = 100, .N_kv = 300, .d = 64, .dtype = DType::bf16};

TEST(Workspace, OfStandardHoldsSAndPAtOnce) {
  const StandardWorkspace layout = standard_workspace(kProblem);
  constexpr std::size_t kScoreBytes = std::size_t{2} * 4 * 100 * 300 * 2;
  EXPECT_EQ(layout.S_offset, 0u);
  EXPECT_GE(layout.P_offset, kScoreBytes);
  EXPECT_EQ(layout.bytes, 2 * layout.P_offset);
  EXPECT_LT(layout.bytes, 2 * (kScoreBytes + kWorkspaceAlignment));
}

TEST(Workspace, OfStandardHoldsPAfterDropoutSeparately) {
  EXPECT_EQ(standard_workspace(kProblem).P_dropped_offset, standard_workspace(kProblem).P_offset);
  AttentionProblem dropped = kProblem;
  dropped.score.dropout.probability = 0.1;
  const StandardWorkspace layout = standard_workspace(dropped);
  EXPECT_EQ(layout.P_dropped_offset, 2 * layout.P_offset);
  EXPECT_EQ(layout.bytes, 3 * layout.P_offset);
}

TEST(Workspace, OfStandardsBackwardHoldsdPOnlyWhereSIsStillRead) {
  AttentionProblem problem = kProblem;
  problem.kv_heads = problem.heads;
  EXPECT_TRUE(standard_backward_workspace(problem).dP_takes_place_of_S);
  EXPECT_EQ(workspace_bytes(kernel_run("standard", problem, PassKind::backward)), 0u);
  problem.score.dropout.probability = 0.1;
  EXPECT_EQ(workspace_bytes(kernel_run("standard", problem, PassKind::backward)), 0u);
  problem.score.soft_cap = 30.0;
  EXPECT_FALSE(standard_backward_workspace(problem).dP_takes_place_of_S);
  EXPECT_EQ(workspace_bytes(kernel_run("standard", problem, PassKind::backward)),
            standard_workspace(problem).P_offset);
}

TEST(Workspace, OfFlash1HoldsOOnlyForTheFp32Carry) {
  constexpr std::size_t kStatisticsBytes =
      std::size_t{2} * 3328;  // 2 x 4 x 100 floats, aligned to 256 bytes
  EXPECT_EQ(flash1_workspace(kProblem, Carry::problem).bytes, kStatisticsBytes);
  const Flash1Workspace fp32 = flash1_workspace(kProblem, Carry::fp32);
  EXPECT_EQ(fp32.O_offset, kStatisticsBytes);
  EXPECT_EQ(fp32.bytes, kStatisticsBytes + std::size_t{2} * 4 * 100 * 64 * 4);
  AttentionProblem odd = kProblem;
  odd.d = 59;  // rows of whole 16-byte pieces: 60 floats
  EXPECT_GE(flash1_workspace(odd, Carry::fp32).bytes,
            kStatisticsBytes + std::size_t{2} * 4 * 100 * 60 * 4);
}

TEST(Workspace, IsAlignedWhateverTheSizes) {
  AttentionProblem odd = kProblem;
  odd.N = 1;
  odd.N_kv = 3;
  EXPECT_EQ(standard_workspace(odd).P_offset % kWorkspaceAlignment, 0u);
  EXPECT_EQ(flash1_workspace(odd, Carry::fp32).l_offset % kWorkspaceAlignment, 0u);
  EXPECT_EQ(flash1_workspace(odd, Carry::fp32).O_offset % kWorkspaceAlignment, 0u);
}

TEST(Workspace, OfFlash2sBackwardHoldsEachQueryHeadsGradientsOnlyForGroups) {
  constexpr std::size_t kdQBytes =
      std::size_t{2} * 4 * 112 * 64 * 4;   // 100 rows: seven pieces of 16
  constexpr std::size_t kDBytes = 3328;    // 2 x 4 x 100 floats, aligned to 256 bytes
  constexpr std::size_t kTurnBytes = 512;  // 2 x 2 x 4 x 7 integers, aligned
  constexpr std::size_t kPerHeadBytes = std::size_t{2} * 4 * 300 * 64 * 2;
  const Flash2BackwardWorkspace grouped = flash2_backward_workspace(kProblem);
  EXPECT_EQ(grouped.D_offset, kdQBytes);
  EXPECT_EQ(grouped.dQ_turns_offset, kdQBytes + kDBytes);
  EXPECT_EQ(grouped.dK_heads_offset, kdQBytes + kDBytes + kTurnBytes);
  EXPECT_EQ(workspace_bytes(kernel_run("flash2", kProblem, PassKind::backward)),
            kdQBytes + kDBytes + kTurnBytes + 2 * kPerHeadBytes);
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

}  // namespace
}  // namespace attnscope::kernels
