/// Traced kernels on a GPU: each executes its schedule's tile operations, gives the same results as
/// the plain kernel, and records the algorithm's m, l and alpha.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/split_kv/split_kv_shared.cuh"
#include "tests/kernels/traced_kernels.h"
#include "tests/kernels/traced_problems.h"

namespace attnscope::kernels {
namespace {

using test::kernel_run;

TEST_F(TracedKernels, DoTheirSchedulesOperationsForward) {
  ATTNSCOPE_NEEDS_GPU();
  for (const char* kernel : {"flash1", "flash2"}) {
    for (const Index d : {16, 64, 128}) {
      expect_schedule(kernel_run(kernel, problem_of(d, 512, 512)));
      expect_schedule(kernel_run(kernel, problem_of(d, 300, 409)));
      expect_schedule(kernel_run(kernel, problem_of(d, 512, 512, Mask::causal())));
      expect_schedule(kernel_run(kernel, problem_of(d, 409, 300, Mask::causal())));
      expect_schedule(
          kernel_run(kernel, problem_of(d, 300, 409, Mask::causal(Mask::Alignment::top_left))));
    }
  }
}

/// Traces tilings that a Hopper GPU computes with its own instructions.
TEST_F(TracedKernels, DoTheirSchedulesOperationsForwardInWideTiles) {
  ATTNSCOPE_NEEDS_GPU();
  for (const auto& [d, tiling] : {std::pair{64, Tiling{192, 128}},
                                  {64, Tiling{256, 64}},
                                  {128, Tiling{128, 128}},
                                  {128, Tiling{128, 176}}}) {
    for (const AttentionProblem& problem :
         {problem_of(d, 512, 512), problem_of(d, 300, 409), problem_of(d, 512, 512, Mask::causal()),
          problem_of(d, 409, 300, Mask::causal())}) {
      expect_schedule(kernel_run("flash2", problem, PassKind::forward, tiling));
    }
  }
}

TEST_F(TracedKernels, DoTheirSchedulesOperationsBackward) {
  ATTNSCOPE_NEEDS_GPU();
  for (const char* kernel : {"flash1", "flash2"}) {
    for (const Index d : {16, 64, 128}) {
      expect_schedule(kernel_run(kernel, problem_of(d, 512, 512), PassKind::backward));
      expect_schedule(kernel_run(kernel, problem_of(d, 300, 409), PassKind::backward));
      expect_schedule(
          kernel_run(kernel, problem_of(d, 409, 300, Mask::causal()), PassKind::backward));
    }
  }
}

/// Traces tilings that a Hopper GPU computes with its own instructions.
TEST_F(TracedKernels, DoTheirSchedulesOperationsBackwardInWideTiles) {
  ATTNSCOPE_NEEDS_GPU();
  for (const auto& [d, tiling] : {std::pair{64, Tiling{128, 128}},
                                  {96, Tiling{64, 128}},
                                  {192, Tiling{64, 64}},
                                  {256, Tiling{64, 64}}}) {
    for (const AttentionProblem& problem : {problem_of(d, 512, 512), problem_of(d, 300, 409),
                                            problem_of(d, 409, 300, Mask::causal())}) {
      expect_schedule(kernel_run("flash2", problem, PassKind::backward, tiling));
    }
  }
}

TEST_F(TracedKernels, DoTheirSchedulesOperationsOverSplitKeys) {
  ATTNSCOPE_NEEDS_GPU();
  for (const Index d : {16, 64, 128}) {
    for (const Index N : {1, 20}) {
      const AttentionProblem problem = problem_of(d, N, 5000);
      expect_schedule(kernel_run("split_kv", problem), splits_of(problem));
    }
  }
}

TEST_F(TracedKernels, DoTheirSchedulesOperationsOnCudaCores) {
  ATTNSCOPE_NEEDS_GPU();
  for (const AttentionProblem& problem :
       {fp32_problem(512, 512), fp32_problem(300, 409), fp32_problem(512, 512, Mask::causal()),
        fp32_problem(409, 300, Mask::causal()),
        fp32_problem(300, 409, Mask::causal(Mask::Alignment::top_left))}) {
    expect_schedule(kernel_run("flash1", problem));
    expect_schedule(kernel_run("flash2", problem));
    expect_schedule(kernel_run("flash2", problem, PassKind::backward));
  }
}

TEST_F(TracedKernels, DoTheirSchedulesOperationsOnListedTiles) {
  ATTNSCOPE_NEEDS_GPU();
  for (const PassKind pass : {PassKind::forward, PassKind::backward}) {
    for (const AttentionProblem& problem : sparse_problems(pass)) {
      expect_schedule(kernel_run("block_sparse2", problem, pass));
    }
  }
}

TEST_F(TracedKernels, ComputeWhatThePlainOnesCompute) {
  ATTNSCOPE_NEEDS_GPU();
  for (const char* name : {"flash1", "flash2", "split_kv"}) {
    for (const Index d : {16, 64, 128}) {
      expect_plain_output(kernel_run(name, problem_of(d, 300, 409)));
    }
  }
  for (const char* name : {"flash1", "flash2"}) {
    for (const Index d : {16, 64, 128}) {
      expect_plain_key_gradients(kernel_run(name, problem_of(d, 300, 409), PassKind::backward));
      expect_plain_key_gradients(
          kernel_run(name, problem_of(d, 409, 300, Mask::causal()), PassKind::backward));
    }
  }
  for (const char* name : {"flash1", "flash2"}) {
    expect_plain_output(kernel_run(name, fp32_problem(300, 409)));
    expect_plain_output(kernel_run(name, fp32_problem(409, 300, Mask::causal())));
  }
  expect_plain_key_gradients(kernel_run("flash2", fp32_problem(300, 409), PassKind::backward));
  for (const AttentionProblem& problem : sparse_problems(PassKind::forward)) {
    expect_plain_output(kernel_run("block_sparse2", problem));
  }
  for (const AttentionProblem& problem : sparse_problems(PassKind::backward)) {
    expect_plain_key_gradients(kernel_run("block_sparse2", problem, PassKind::backward));
  }
}

TEST_F(TracedKernels, RecordTheMLAndAlphaOfTheAlgorithm) {
  ATTNSCOPE_NEEDS_GPU();
  for (const char* kernel : {"flash1", "flash2"}) {
    for (const Index d : {16, 64, 128}) expect_states(kernel_run(kernel, problem_of(d, 300, 409)));
    expect_states(kernel_run(kernel, fp32_problem(300, 409)));
    for (const AttentionProblem& problem : scored_problems(kernel)) {
      expect_states(kernel_run(kernel, problem));
    }
  }
  for (const AttentionProblem& problem : sparse_problems(PassKind::forward)) {
    expect_states(kernel_run("block_sparse2", problem));
  }
  for (const AttentionProblem& problem : scored_problems("block_sparse2")) {
    expect_states(kernel_run("block_sparse2", problem));
  }
}

TEST_F(TracedKernels, RecordTheMLAndAlphaOfEachWarpWhereWarpsShareARowsKeys) {
  ATTNSCOPE_NEEDS_GPU();
  constexpr Index kRowStep = 7;
  constexpr int kWarps = split_kv_warps({kSplitRows, 64});
  for (const Index d : {16, 64, 128}) {
    // One split and several; a partial last column tile; warps and splits that see no key
    for (const AttentionProblem& problem :
         {problem_of(d, 1, 5000), problem_of(d, 20, 5000), problem_of(d, 20, 5000, Mask::causal()),
          problem_of(d, 300, 409),
          problem_of(d, 20, 300, Mask::causal(Mask::Alignment::top_left))}) {
      expect_states(kernel_run("split_kv", problem),
                    {.row_step = kRowStep, .splits = splits_of(problem), .parts = kWarps});
    }
  }
}

TEST_F(TracedKernels, DoTheirSchedulesOperationsWithScoreFunctions) {
  ATTNSCOPE_NEEDS_GPU();
  for (const char* kernel : {"flash1", "flash2", "block_sparse2"}) {
    for (const AttentionProblem& problem : scored_problems(kernel)) {
      expect_schedule(kernel_run(kernel, problem));
      expect_schedule(kernel_run(kernel, problem, PassKind::backward));
    }
  }
}

TEST_F(TracedKernels, ComputeWhatThePlainOnesComputeWithScoreFunctions) {
  ATTNSCOPE_NEEDS_GPU();
  for (const char* kernel : {"flash1", "flash2", "block_sparse2"}) {
    for (const AttentionProblem& problem : scored_problems(kernel)) {
      expect_plain_output(kernel_run(kernel, problem));
      expect_plain_key_gradients(kernel_run(kernel, problem, PassKind::backward));
    }
  }
}

/// A block's steps are those of its first warp.
TEST_F(TracedKernels, LeaveARescaleOutOnlyWhereAlphaIsOne) {
  ATTNSCOPE_NEEDS_GPU();
  constexpr Index kFirstWarpRows = 16;
  const KernelTrace traced = trace(kernel_run("flash2", problem_of(16, 64, 2048)), /*row_step=*/1);
  Index left_out = 0;
  for (const TracedBlock& block : traced.blocks) {
    for (const TracedStep& step : block.steps) {
      if (step.done) continue;
      ++left_out;
      ASSERT_EQ(step.step, TraceStep::rescale);
      for (const TracedRow& row : traced.rows) {
        const Index tile_row = row.row - step.i * traced.run.tiling.Br;
        const bool of_warp = row.batch == block.batch && row.head == block.head && 0 <= tile_row &&
                             tile_row < kFirstWarpRows;
        if (!of_warp) continue;
        EXPECT_EQ(row.states[static_cast<std::size_t>(step.j)].alpha, 1.0f);
      }
    }
  }
  EXPECT_GT(left_out, 0);
}

TEST_F(TracedKernels, RunOnSmsOfTheGpuWithinThePassesTime) {
  ATTNSCOPE_NEEDS_GPU();
  const KernelTrace traced =
      trace(kernel_run("flash2", problem_of(64, 2048, 2048)), /*row_step=*/0);
  const std::vector<Index> slots = block_slots(traced);
  EXPECT_LE(*std::ranges::max_element(slots), 1);  // two blocks fit on an SM
  for (const TracedBlock& block : traced.blocks) {
    EXPECT_LT(block.sm, device().sm_count);
    EXPECT_LT(block.begin_ps, block.end_ps);
    EXPECT_LE(block.steps.back().end_ps, block.end_ps + 1000);
  }
  EXPECT_LT(static_cast<double>(traced.end_ps()) * 1e-12, 2 * traced.time_s);
  EXPECT_GT(traced.sm_clock_mhz, 300.0);
  EXPECT_LT(traced.sm_clock_mhz, 4000.0);
}

}  // namespace
}  // namespace attnscope::kernels
