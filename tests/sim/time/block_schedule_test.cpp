/// Thread blocks on SMs: how long they take, and how the SMs spend that time.
#include "sim/time/block_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace attnscope {
namespace {

double busy(const ScheduleCycles& cycles) {
  return cycles.stepping + cycles.waiting + cycles.idle;
}

/// A schedule in which a block's last steps take as long as the others.
BlockSchedule even_schedule(Index sms, const std::vector<double>& cycles, double start_cycles = 0) {
  return {sms, {cycles, cycles}, start_cycles};
}

TEST(BlockSchedule, ABlockTakesItsWaitsAndItsSteps) {
  const BlockSchedule schedule = even_schedule(1, {100.0});
  const std::vector<BlockTask> block = {
      {.wait_before_cycles = 30, .steps = 4, .wait_after_cycles = 20}};
  const ScheduleCycles cycles = schedule.run(block, 1);
  EXPECT_DOUBLE_EQ(cycles.end, 30 + 400 + 20);
  EXPECT_DOUBLE_EQ(cycles.stepping, 400);
  EXPECT_DOUBLE_EQ(cycles.waiting, 50);
  EXPECT_DOUBLE_EQ(cycles.idle, 0);
}

TEST(BlockSchedule, BlocksOfOneSmSlowEachOtherDownOnlyWhileBothStep) {
  const BlockSchedule schedule = even_schedule(1, {100.0, 160.0});
  // The first block runs alone for one step, then both until the first has finished its second
  // step, then the other one alone
  const std::vector<BlockTask> blocks = {{.steps = 2}, {.wait_before_cycles = 100, .steps = 2}};
  EXPECT_DOUBLE_EQ(schedule.run(blocks, 1).end, 100 + 160 + 100);
  // Two blocks run at once, twice
  const std::vector<BlockTask> alike(4, BlockTask{.steps = 3});
  EXPECT_DOUBLE_EQ(schedule.run(alike, 1).end, 2 * 3 * 160);
}

TEST(BlockSchedule, LastStepsHaveTheirOwnCyclesAtEveryNumberOfBlocks) {
  const BlockSchedule schedule(1, {.of_step = {100.0, 160.0}, .of_last_step = {10.0, 40.0}});
  const BlockTask task{.steps = 2, .last_steps = 1};
  EXPECT_DOUBLE_EQ(schedule.run(std::vector{task}, 1).end, 2 * 100 + 10);
  EXPECT_DOUBLE_EQ(schedule.run(std::vector{task}, 2).end, 2 * 160 + 40);
  // While the first block takes its last step, the other one still waits for tiles
  const std::vector<BlockTask> blocks = {{.last_steps = 1}, {.steps = 2}};
  const ScheduleCycles cycles = schedule.run(blocks, 1);
  EXPECT_DOUBLE_EQ(cycles.end, 40 + (2 - 40 / 160.0) * 100);
  EXPECT_DOUBLE_EQ(cycles.stepping, cycles.end);
}

TEST(BlockSchedule, TheLastWaveLeavesSmsIdle) {
  const BlockSchedule schedule = even_schedule(4, {10.0});
  const std::vector<BlockTask> block = {{.steps = 1}};
  const ScheduleCycles cycles = schedule.run(block, 5);
  EXPECT_DOUBLE_EQ(cycles.end, 20);
  EXPECT_DOUBLE_EQ(cycles.stepping, 50);
  EXPECT_DOUBLE_EQ(cycles.idle, 30);
  EXPECT_DOUBLE_EQ(busy(cycles), 4 * cycles.end);
}

TEST(BlockSchedule, AFreePlaceTakesTheNextBlockOfTheLaunch) {
  const BlockSchedule schedule = even_schedule(2, {1.0});
  // The blocks of 5 and 3 steps begin; the one of 4 starts after the one of 3, and ends last
  const std::vector<BlockTask> blocks = {{.steps = 5}, {.steps = 3}, {.steps = 4}};
  EXPECT_DOUBLE_EQ(schedule.run(blocks, 1).end, 7);
  // The long block takes longer in total if it comes last
  const std::vector<BlockTask> last = {{.steps = 1}, {.steps = 1}, {.steps = 9}};
  const std::vector<BlockTask> first = {{.steps = 9}, {.steps = 1}, {.steps = 1}};
  EXPECT_DOUBLE_EQ(schedule.run(last, 1).end, 10);
  EXPECT_DOUBLE_EQ(schedule.run(first, 1).end, 9);
}

TEST(BlockSchedule, ABlockMayWaitLessBehindAnotherOneInItsPlace) {
  const BlockSchedule schedule = even_schedule(1, {10.0});
  const BlockTask task{.wait_before_cycles = 30, .wait_before_following_cycles = 5, .steps = 2};
  EXPECT_DOUBLE_EQ(schedule.run(std::vector{task}, 3).end, (30 + 20) + 2 * (5 + 20));
  EXPECT_DOUBLE_EQ(even_schedule(3, {10.0}).run(std::vector{task}, 3).end, 30 + 20);
}

TEST(BlockSchedule, AnSmStartsItsFirstBlocksOneAfterAnother) {
  const BlockSchedule schedule = even_schedule(2, {10.0, 10.0, 10.0}, 4.0);
  const BlockTask task{.wait_before_cycles = 5, .steps = 1};
  // Two blocks begin at once on two SMs, the next two 4 cycles later; one more follows at 15
  EXPECT_DOUBLE_EQ(schedule.run(std::vector{task}, 2).end, 5 + 10);
  EXPECT_DOUBLE_EQ(schedule.run(std::vector{task}, 4).end, 4 + 5 + 10);
  EXPECT_DOUBLE_EQ(schedule.run(std::vector{task}, 7).end, 15 + 10);
}

TEST(BlockSchedule, OnlyTheLastBlockInAPlaceWaitsForStoresThatOverlapTheNextBlock) {
  const BlockTask task{.steps = 2, .wait_after_last_cycles = 7};
  EXPECT_DOUBLE_EQ(even_schedule(1, {10.0}).run(std::vector{task}, 3).end, 3 * 20 + 7);
  // Two SMs end with the second and the third block
  const ScheduleCycles cycles = even_schedule(2, {10.0}).run(std::vector{task}, 3);
  EXPECT_DOUBLE_EQ(cycles.end, 2 * 20 + 7);
  EXPECT_DOUBLE_EQ(cycles.waiting, 2 * 7);
  EXPECT_DOUBLE_EQ(cycles.idle, 20);
}

TEST(BlockSchedule, NotesWhereAndWhenEachBlockRan) {
  const BlockSchedule schedule = even_schedule(2, {10.0, 15.0});
  const std::vector<BlockTask> blocks = {
      {.wait_before_cycles = 5, .steps = 1, .wait_after_cycles = 3}, {.steps = 2}, {.steps = 1}};
  std::vector<ScheduledBlock> scheduled;
  const ScheduleCycles cycles = schedule.run(blocks, 2, nullptr, &scheduled);
  ASSERT_EQ(scheduled.size(), 6U);
  std::ranges::sort(scheduled, {}, &ScheduledBlock::index);
  double last_end = 0;
  for (std::size_t n = 0; n < scheduled.size(); ++n) {
    const ScheduledBlock& block = scheduled[n];
    EXPECT_EQ(block.index, n);
    EXPECT_LE(block.begin, block.first_step);
    EXPECT_LT(block.first_step, block.last_step_end);
    EXPECT_LE(block.last_step_end, block.end);
    last_end = std::max(last_end, block.end);
    for (std::size_t other = n + 1; other < scheduled.size(); ++other) {
      const ScheduledBlock& later = scheduled[other];
      if (later.sm != block.sm || later.slot != block.slot) continue;
      EXPECT_GE(later.begin, block.end) << n << " and " << other << " share a place";
    }
  }
  EXPECT_DOUBLE_EQ(last_end, cycles.end);
  // The first blocks are distributed to the SMs round-robin
  EXPECT_EQ(scheduled[0].sm, 0);
  EXPECT_EQ(scheduled[1].sm, 1);
  EXPECT_EQ(scheduled[2].sm, 0);
  EXPECT_EQ(scheduled[2].slot, 1);
  EXPECT_DOUBLE_EQ(scheduled[0].first_step, 5);
  EXPECT_DOUBLE_EQ(scheduled[0].end - scheduled[0].last_step_end, 3);
}

TEST(BlockSchedule, LongRunsEndInSpiteOfRounding) {
  const BlockSchedule schedule = even_schedule(132, {3324.016, 5185.578});
  std::vector<BlockTask> blocks;
  for (int i = 64; i > 0; --i) {
    blocks.push_back(
        {.wait_before_cycles = 1234.567, .steps = i * 1.0371, .wait_after_cycles = 0.1 * i});
  }
  const ScheduleCycles cycles = schedule.run(blocks, 264);
  EXPECT_NEAR(busy(cycles), 132 * cycles.end, 1e-6 * busy(cycles));
  EXPECT_GT(cycles.stepping, 0.9 * busy(cycles));
}

TEST(BlockSchedule, TheFirstHeadsStandForVeryMany) {
  const BlockSchedule schedule = even_schedule(2, {10.0});
  const std::vector<BlockTask> blocks = {{.steps = 1}, {.steps = 3}};
  const ScheduleCycles cycles = schedule.run(blocks, Index{1} << 40U);
  EXPECT_NEAR(cycles.end, 20.0 * static_cast<double>(Index{1} << 40U), 1e-3 * cycles.end);
  EXPECT_NEAR(busy(cycles), 2 * cycles.end, 1e-9 * busy(cycles));
}

TEST(BlockSchedule, BlocksWithoutWorkTakeNoTime) {
  const BlockSchedule schedule = even_schedule(2, {1.0});
  const std::vector<BlockTask> blocks(7);
  EXPECT_DOUBLE_EQ(schedule.run(blocks, 3).end, 0);
}

}  // namespace
}  // namespace attnscope
