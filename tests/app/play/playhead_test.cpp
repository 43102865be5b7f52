#include "app/play/playhead.h"

#include <gtest/gtest.h>

namespace attnscope::app {
namespace {

/// Twelve operations: tiles begin at 0, 3, 6 and 9, iterations of the outer loop at 0 and 6.
RunInfo twelve_operations() {
  RunInfo run;
  run.step_count = 12;
  run.tile_steps = {0, 3, 6, 9};
  run.outer = {{0, 6, "i = 0"}, {6, 12, "i = 1"}};
  return run;
}

TEST(Playhead, StepsByOneOperationAndStopsAtBothEnds) {
  const RunInfo run = twelve_operations();
  EXPECT_EQ(moved_step(run, 4, Granularity::op, 1), 5);
  EXPECT_EQ(moved_step(run, 4, Granularity::op, -1), 3);
  EXPECT_EQ(moved_step(run, 11, Granularity::op, 1), 11);
  EXPECT_EQ(moved_step(run, -1, Granularity::op, -1), -1);
}

TEST(Playhead, ATileForwardStopsAfterTheTilesLastOperation) {
  const RunInfo run = twelve_operations();
  EXPECT_EQ(moved_step(run, -1, Granularity::tile, 1), 2);
  EXPECT_EQ(moved_step(run, 2, Granularity::tile, 1), 5);
  EXPECT_EQ(moved_step(run, 3, Granularity::tile, 1), 5);
  EXPECT_EQ(moved_step(run, 9, Granularity::tile, 1), 11);
  EXPECT_EQ(moved_step(run, 11, Granularity::tile, 1), 11);
  EXPECT_EQ(moved_step(run, -1, Granularity::tile, 3), 8);
}

TEST(Playhead, ATileBackFirstReachesTheTilesOwnBeginning) {
  const RunInfo run = twelve_operations();
  EXPECT_EQ(moved_step(run, 4, Granularity::tile, -1), 2);
  EXPECT_EQ(moved_step(run, 2, Granularity::tile, -1), -1);
  EXPECT_EQ(moved_step(run, 11, Granularity::tile, -1), 8);
  EXPECT_EQ(moved_step(run, 11, Granularity::tile, -9), -1);
}

TEST(Playhead, TheOuterLoopMovesByWholeIterations) {
  const RunInfo run = twelve_operations();
  EXPECT_EQ(moved_step(run, 0, Granularity::outer_loop, 1), 5);
  EXPECT_EQ(moved_step(run, 5, Granularity::outer_loop, 1), 11);
  EXPECT_EQ(moved_step(run, 8, Granularity::outer_loop, -1), 5);
}

TEST(Playhead, ForwardAndBackByTileMeetAtTheSameSteps) {
  const RunInfo run = twelve_operations();
  for (Index step = -1; step < 11;) {
    const Index next = moved_step(run, step, Granularity::tile, 1);
    EXPECT_EQ(moved_step(run, next, Granularity::tile, -1), step);
    step = next;
  }
}

TEST(Player, PlaysThreeUnitsASecondTimesTheSpeedInWholeSteps) {
  const RunInfo run = twelve_operations();
  ViewState view;
  view.step = -1;
  view.playing = true;
  view.speed = 2.0;
  Player player;
  for (int tick = 0; tick < 10; ++tick) player.advance(run, view, 0.1);
  EXPECT_NEAR(static_cast<double>(view.step) + player.fraction(), 5.0, 1e-9);
}

TEST(Player, StopsAtTheLastOperation) {
  const RunInfo run = twelve_operations();
  ViewState view;
  view.playing = true;
  view.speed = 64.0;
  Player player;
  player.advance(run, view, 1.0);
  EXPECT_EQ(view.step, 11);
  EXPECT_FALSE(view.playing);
}

TEST(Player, DoesNotMoveWhilePaused) {
  const RunInfo run = twelve_operations();
  ViewState view;
  view.step = 3;
  Player player;
  player.advance(run, view, 10.0);
  EXPECT_EQ(view.step, 3);
}

}  // namespace
}  // namespace attnscope::app
