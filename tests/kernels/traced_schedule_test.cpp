/// The comparison of a trace with its schedule, on traces that are written by hand.
#include "tests/kernels/traced_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/kernels/described_trace.h"
#include "tests/support/listed_block_mask.h"

namespace attnscope {
namespace {

using kernels::TraceStep;
using ::testing::HasSubstr;

/// The steps of flash2 on described()'s problem, with its second column tile loaded ahead.
KernelTrace faithful() {
  KernelTrace trace = described();
  TracedBlock block;
  const auto add = [&](TraceStep step, int i, int j) { block.steps.push_back({step, i, j}); };
  add(TraceStep::load_Qi, 0, 0);
  for (int j = 0; j < 2; ++j) {
    if (j == 0) add(TraceStep::load_Kj, 0, 0);
    if (j == 0) add(TraceStep::load_Vj, 0, 0);
    add(TraceStep::wait, 0, j);
    if (j == 0) add(TraceStep::load_Kj, 0, 1);
    if (j == 0) add(TraceStep::load_Vj, 0, 1);
    add(TraceStep::scores, 0, j);
    add(TraceStep::update_max, 0, j);
    add(TraceStep::rescale, 0, j);
    add(TraceStep::exponentiate, 0, j);
    add(TraceStep::accumulate, 0, j);
  }
  add(TraceStep::normalize, 0, 0);
  add(TraceStep::store_LSEi, 0, 0);
  add(TraceStep::store_Oi, 0, 0);
  trace.blocks = {block};
  return trace;
}

TEST(TracedSchedule, AgreesWithItsScheduleThoughItLoadsAhead) {
  EXPECT_THAT(differences_from_schedule(faithful()), ::testing::IsEmpty());
  EXPECT_EQ(scheduled_operations(faithful()), 4 + 2 * 9 + 4);
}

TEST(TracedSchedule, EveryStepThatIsMissingShows) {
  const KernelTrace whole = faithful();
  for (std::size_t n = 0; n < whole.blocks[0].steps.size(); ++n) {
    KernelTrace trace = whole;
    trace.blocks[0].steps.erase(trace.blocks[0].steps.begin() + static_cast<std::ptrdiff_t>(n));
    const bool waits = whole.blocks[0].steps[n].step == TraceStep::wait;
    EXPECT_EQ(differences_from_schedule(trace).empty(), waits) << n;
  }
}

TEST(TracedSchedule, ADifferentOrderShows) {
  KernelTrace swapped = faithful();
  std::swap(swapped.blocks[0].steps[1], swapped.blocks[0].steps[2]);  // V before K
  EXPECT_THAT(differences_from_schedule(swapped),
              ::testing::ElementsAre(HasSubstr("copies in order")));
  KernelTrace backwards = faithful();
  for (TracedStep& step : backwards.blocks[0].steps) step.j = 1 - step.j;
  EXPECT_FALSE(differences_from_schedule(backwards).empty());
}

/// The steps of flash2 with Hopper's instructions on three column tiles of 128 keys.
KernelTrace skewed() {
  KernelTrace trace = described();
  trace.run.problem.N = 128;
  trace.run.problem.N_kv = 3 * 128;
  trace.run.problem.d = 128;
  trace.run.tiling = {128, 128};
  TracedBlock block;
  const auto add = [&](TraceStep step, int i, int j) { block.steps.push_back({step, i, j}); };
  const auto accumulate = [&](int j) {
    add(TraceStep::load_Kj, 0, j);
    add(TraceStep::load_Vj, 0, j);
    add(TraceStep::accumulate, 0, j);
  };
  add(TraceStep::load_Qi, 0, 0);
  for (int j = 0; j < 3; ++j) {
    add(TraceStep::scores, 0, j);
    add(TraceStep::update_max, 0, j);
    add(TraceStep::exponentiate, 0, j);
    if (j > 0) accumulate(j - 1);
    add(TraceStep::rescale, 0, j);
  }
  accumulate(2);
  add(TraceStep::store_LSEi, 0, 0);
  add(TraceStep::normalize, 0, 0);
  add(TraceStep::store_Oi, 0, 0);
  trace.blocks = {block};
  return trace;
}

TEST(TracedSchedule, InHoppersInstructionsTheNextScoresComeBeforeAnOutputProduct) {
  EXPECT_THAT(differences_from_schedule(skewed()), ::testing::IsEmpty());
  const auto tiles_differ = ::testing::ElementsAre(HasSubstr("tiles in order"));
  // That order is wrong without the overlap, and on a GPU that runs the other program
  KernelTrace alone = skewed();
  alone.run.asked.switches = {{"overlap", "off"}};
  EXPECT_THAT(differences_from_schedule(alone), tiles_differ);
  KernelTrace older = skewed();
  older.header.device.compute_capability = "8.0";
  EXPECT_THAT(differences_from_schedule(older), tiles_differ);
  // Each product must occur once; those of a second warp group would occur twice
  KernelTrace twice = skewed();
  const auto steps = twice.blocks[0].steps;
  std::ranges::copy_if(steps, std::back_inserter(twice.blocks[0].steps),
                       [](const TracedStep& step) { return step.step == TraceStep::scores; });
  EXPECT_THAT(differences_from_schedule(twice),
              ::testing::ElementsAre(HasSubstr("6 recorded, 3 in the schedule"),
                                     HasSubstr("tiles in order")));
}

TEST(TracedSchedule, OfAgentsHasTheStepsOfTheFirstConsumerAndTheLoadsForIt) {
  // The operations of the producer, and twice those of a consumer of 64 rows
  constexpr Index kProducer = 2 * 2 + 3 * 4 + 2, kConsumer = 4 + 3 * 11 + 4;
  EXPECT_EQ(scheduled_operations(skewed()), kProducer + 2 * kConsumer);
  KernelTrace older = skewed();
  older.header.device.compute_capability = "8.0";
  EXPECT_EQ(scheduled_operations(older), 4 + 3 * 9 + 4);
  // A load that the first consumer does not wait for, and another consumer's step
  KernelTrace more = skewed();
  more.blocks[0].steps.push_back({TraceStep::load_Qi, 0, 0});
  more.blocks[0].steps.push_back({TraceStep::normalize, 0, 0});
  EXPECT_THAT(differences_from_schedule(more),
              ::testing::ElementsAre(HasSubstr("load Q_i"), HasSubstr("O_i / l_i"),
                                     HasSubstr("copies in order")));
}

TEST(TracedSchedule, ATileThatTheBlockMaskLeavesOutShows) {
  KernelTrace trace = faithful();
  trace.run.asked.algorithm = trace.run.asked.kernel = "block_sparse2";
  trace.run.problem.block_mask = test::listed_block_mask({16, 16}, 2, {{1}});
  EXPECT_THAT(differences_from_schedule(trace), ::testing::Contains(HasSubstr("tiles in order")));
  std::erase_if(trace.blocks[0].steps, [](const TracedStep& step) {
    return step.j == 0 && step.step != TraceStep::load_Qi && step.step != TraceStep::normalize &&
           step.step != TraceStep::store_LSEi && step.step != TraceStep::store_Oi;
  });
  EXPECT_THAT(differences_from_schedule(trace), ::testing::IsEmpty());
}

TEST(TracedSchedule, AMaskShowsUnlessItHidesPaddingAlone) {
  KernelTrace masked = faithful();
  const TracedStep mask{TraceStep::mask, 0, 1};
  masked.blocks[0].steps.push_back(mask);
  EXPECT_THAT(differences_from_schedule(masked), ::testing::ElementsAre(HasSubstr("mask S")));
  masked.run.problem.N_kv = 20;
  EXPECT_THAT(differences_from_schedule(masked), ::testing::IsEmpty());
}

/// flash2 on one tile of 128x128, some of whose keys a key length or a window hides.
KernelTrace one_tile(const AttentionProblem& problem, bool masks) {
  KernelTrace trace = described();
  trace.run.problem = problem;
  trace.run.tiling = {128, 128};
  TracedBlock block;
  for (const TraceStep step :
       {TraceStep::load_Qi, TraceStep::load_Kj, TraceStep::load_Vj, TraceStep::scores,
        TraceStep::mask, TraceStep::update_max, TraceStep::exponentiate, TraceStep::rescale,
        TraceStep::accumulate, TraceStep::normalize, TraceStep::store_LSEi, TraceStep::store_Oi}) {
    if (step != TraceStep::mask || masks) block.steps.push_back({step, 0, 0});
  }
  trace.blocks = {block};
  return trace;
}

TEST(TracedSchedule, WithScoreFunctionsTheFirstWarpMasksWhereOneOfItsRowsHasAHiddenKey) {
  AttentionProblem problem = described().run.problem;
  problem.N = problem.N_kv = 128;
  problem.key_lengths = {100};
  EXPECT_THAT(differences_from_schedule(one_tile(problem, true)), ::testing::IsEmpty());
  EXPECT_THAT(differences_from_schedule(one_tile(problem, false)),
              ::testing::ElementsAre(HasSubstr("mask S: 0 recorded, 1 in the schedule")));
  // The first sixteen rows see all keys, later ones do not
  problem.key_lengths.clear();
  problem.mask.left = 20;
  EXPECT_THAT(differences_from_schedule(one_tile(problem, false)), ::testing::IsEmpty());
  EXPECT_THAT(differences_from_schedule(one_tile(problem, true)),
              ::testing::ElementsAre(HasSubstr("mask S: 1 recorded, 0 in the schedule")));
}

TEST(TracedSchedule, StepsOfTheScoreFunctionArePartsOfOthers) {
  AttentionProblem problem = described().run.problem;
  problem.N = problem.N_kv = 128;
  const Index plain = scheduled_operations(one_tile(problem, false));
  problem.score.soft_cap = 30.0;
  problem.score.alibi_slopes = {0.5};
  problem.score.dropout.probability = 0.1;
  EXPECT_EQ(scheduled_operations(one_tile(problem, false)), plain + 3);
  EXPECT_THAT(differences_from_schedule(one_tile(problem, false)), ::testing::IsEmpty());
}

TEST(TracedSchedule, AColumnTileOfPaddingIsLoadedByNameAlone) {
  KernelTrace trace = described();
  trace.run.problem.key_lengths = {16};
  trace.run.asked.pass = PassKind::backward;
  trace.launch = "backward";
  TracedBlock block{.block = 1};
  for (const TraceStep step :
       {TraceStep::load_Kj, TraceStep::load_Vj, TraceStep::store_dKj, TraceStep::store_dVj}) {
    block.steps.push_back({step, 0, 1});
  }
  trace.blocks = {block};
  EXPECT_THAT(differences_from_schedule(trace),
              ::testing::ElementsAre(HasSubstr("1 thread blocks recorded, 2 in the schedule")));
  trace.run.problem.key_lengths = {17};
  EXPECT_GT(differences_from_schedule(trace).size(), 1u);
}

}  // namespace
}  // namespace attnscope
