#include "app/step_simulator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/scene.h"

namespace attnscope::app {
namespace {

/// A step of the choice's run, else its last one, of head `head`.
std::shared_ptr<const Snapshot> step_of(const Choice& choice, Index head,
                                        Index step = Index{1} << 30) {
  StepSimulator simulator;
  WorkControl control;
  const auto snapshot = simulator({choice, head, step, 0, 0}, control);
  EXPECT_TRUE(snapshot.ok()) << snapshot.error().message;
  return snapshot ? snapshot.value() : nullptr;
}

Choice grouped_decoding() {
  Choice choice = load_scene("split-kv").value().view.choice;
  choice.problem.heads = 4;
  choice.problem.kv_heads = 2;
  choice.problem.N = 3;
  return choice;
}

TEST(StepSimulator, AGroupOfQueryHeadsIsOneTileWithTheSameRows) {
  Choice choice = grouped_decoding();
  const auto packed = step_of(choice, 3);
  choice.separate_heads = true;
  const auto second = step_of(choice, 2);
  const auto third = step_of(choice, 3);
  ASSERT_TRUE(packed && second && third);
  EXPECT_EQ(packed->run->problem.N, 6);
  EXPECT_EQ(packed->run->head, 1);
  EXPECT_EQ(third->run->problem.N, 3);
  std::vector<double> apart = second->run->reference_O.values;
  apart.insert(apart.end(), third->run->reference_O.values.begin(),
               third->run->reference_O.values.end());
  EXPECT_THAT(packed->run->reference_O.values,
              testing::Pointwise(testing::DoubleNear(1e-12), apart));
}

TEST(StepSimulator, RunsTheSplitsThatWereChosen) {
  Choice choice = grouped_decoding();
  for (const Index splits : {1, 3, 16}) {
    choice.splits = splits;
    EXPECT_EQ(step_of(choice, 0)->run->totals.splits, splits);
  }
  choice.splits = 17;
  ASSERT_TRUE(check_choice(choice));
  EXPECT_THAT(check_choice(choice)->message, testing::HasSubstr("at most 16 splits"));
}

TEST(StepSimulator, VariantsMoveTheirBytes) {
  Choice choice = load_scene("standard-64").value().view.choice;
  const auto requested = [&] { return step_of(choice, 0)->run->totals.requested.total(); };
  const Index rows = requested();
  choice.variant.fusion = Fusion::separate;
  EXPECT_GT(requested(), rows);
  choice = load_scene("flash1-64").value().view.choice;
  const Index paper = requested();
  choice.variant.skip_first_reads = true;
  EXPECT_LT(requested(), paper);
  choice.variant.checkpoint = true;
  EXPECT_TRUE(check_choice(choice));
}

TEST(StepSimulator, ASmallerSharedMemoryRefusesWhatNoLongerFits) {
  Choice choice = load_scene("default").value().view.choice;
  EXPECT_FALSE(check_choice(choice));
  choice.sram_bytes = 1024;
  ASSERT_TRUE(check_choice(choice));
  EXPECT_THAT(check_choice(choice)->message, testing::HasSubstr("does not fit"));
}

TEST(StepSimulator, CountsAnOverflowWhereThatWasChosen) {
  Choice choice = load_scene("default").value().view.choice;
  choice.sram_bytes = 1024;
  choice.allow_overflow = true;
  EXPECT_FALSE(check_choice(choice));
  const auto snapshot = step_of(choice, 0);
  const auto& totals = snapshot->run->totals;
  EXPECT_FALSE(totals.fits);
  EXPECT_GT(totals.sram_bytes_per_block, 1024);
}

TEST(StepSimulator, ASmallerL2SendsMoreToDram) {
  Choice choice = load_scene("standard-64").value().view.choice;
  const auto dram = [&] { return step_of(choice, 0)->run->totals.dram.read_bytes; };
  const Index kept = dram();
  choice.l2_bytes = 1;
  EXPECT_GT(dram(), kept);
}

TEST(StepSimulator, RoundsWhereAKernelRoundsUnlessThatIsGivenUp) {
  Choice choice = load_scene("default").value().view.choice;
  constexpr Index kFirstRowsAreDivided = 40;
  const auto error = [&] {
    return step_of(choice, 0, kFirstRowsAreDivided)->softmax_row.error.value();
  };
  EXPECT_GT(error(), 1e-6);
  choice.round_to_storage = false;
  EXPECT_LT(error(), 1e-12);
}

}  // namespace
}  // namespace attnscope::app
