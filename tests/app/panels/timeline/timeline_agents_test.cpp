/// The agents of a run on the screen: the timeline's lanes, and the slots that panels show.

#include <gtest/gtest.h>

#include "app/panels/parts/snapshot_view.h"
#include "app/panels/timeline/timeline.h"
#include "tests/app/panels/sample_snapshot.h"

namespace attnscope::app {
namespace {

/// The number of lanes that show the snapshot's operation. Checks that the operation of every lane
/// at this step is of the same kind.
int lanes_that_show(const TimelineLanes& lanes, const Snapshot& snapshot, Index step) {
  int shown = 0;
  for (const Lane& lane : lanes.lanes()) {
    if (step < lane.begin || step >= lane.end) continue;
    const TileOp& op = lane.ops[static_cast<std::size_t>(step - lane.begin)];
    EXPECT_EQ(op.kind, snapshot.op.kind) << step;
    shown += lane.shows(op) ? 1 : 0;
  }
  return shown;
}

TEST(TimelineLanes, AreTheAgentsOfAThreadBlockInOneOrderOfTheirOperations) {
  const auto run = test::sample_run(test::agents_request(PassKind::forward));
  TimelineLanes lanes;
  for (Index step = 0; step < run->info()->step_count; ++step) {
    const Snapshot snapshot = run->at(step);
    lanes.update(snapshot, 8);
    ASSERT_EQ(lanes.lanes().size(), 6U);  // two row tiles
    EXPECT_EQ(lanes_that_show(lanes, snapshot, step), 1) << step;
  }
  EXPECT_EQ(lanes.lanes()[0].label, "i = 0, producer");
  EXPECT_EQ(lanes.lanes()[5].label, "i = 1, consumer 1");
}

TEST(TimelineLanes, AreTheAgentsOfABackwardPass) {
  const auto run = test::sample_run(test::agents_request(PassKind::backward));
  TimelineLanes lanes;
  const StepSpan& backward = run->info()->launches[1];
  for (Index step = backward.begin; step < backward.end; ++step) {
    const Snapshot snapshot = run->at(step);
    lanes.update(snapshot, 10);
    ASSERT_EQ(lanes.lanes().size(), 10U);  // two column tiles
    EXPECT_EQ(lanes_that_show(lanes, snapshot, step), 1) << step;
  }
  EXPECT_EQ(lanes.lanes()[1].label, "j = 0, statistics loader");
  EXPECT_EQ(lanes.lanes()[2].label, "j = 0, dQ adder");
  EXPECT_EQ(lanes.lanes()[9].label, "j = 1, consumer 1");
}

TEST(FoundSlot, IsTheBufferOfTheRowTileThatIsWorkedOn) {
  const auto run = test::sample_run(test::agents_request(PassKind::backward));
  int checked = 0;
  for (Index step = 0; step < run->info()->step_count; ++step) {
    const Snapshot snapshot = run->at(step);
    if (snapshot.op.kind != OpKind::softmax_gradient) continue;
    const Tile dS = snapshot.op.dest_tiles[0];
    EXPECT_EQ(find_slot(snapshot, Tensor::dS)->slot, dS.slot) << step;
    EXPECT_EQ(find_slot(snapshot, Tensor::Q)->tile.i, dS.i) << step;
    EXPECT_EQ(find_slot(snapshot, Tensor::S)->slot, 1 + number_of(snapshot.op.agent)) << step;
    ++checked;
  }
  EXPECT_EQ(checked, 16);  // four row tiles, two column tiles, two consumers
}

TEST(FoundSlot, IsThatOfTheConsumerThatRanLast) {
  const auto run = test::sample_run(test::agents_request(PassKind::forward));
  int checked = 0;
  for (Index step = 0; step < run->info()->step_count; ++step) {
    const Snapshot snapshot = run->at(step);
    if (snapshot.op.kind != OpKind::scores) continue;
    const SlotState* const S = find_slot(snapshot, Tensor::S);
    ASSERT_NE(S, nullptr);
    EXPECT_EQ(S->slot, 1 + number_of(snapshot.op.agent)) << step;
    EXPECT_TRUE(S->valid) << step;
    ++checked;
  }
  EXPECT_EQ(checked, 2 * 2 * 4);
}

}  // namespace
}  // namespace attnscope::app
