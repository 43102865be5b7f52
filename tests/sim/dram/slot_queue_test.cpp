/// The order of the modelled L2's events: by time, then by slot.

#include "sim/dram/slot_queue.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace attnscope {
namespace {

/// Every slot moves many times, after waits of up to `longest_wait` ticks; the same events in an
/// ordered set say which slot comes next.
void expect_order_of_a_set(std::size_t slots, std::uint64_t longest_wait) {
  std::mt19937_64 generator(7);
  std::uniform_int_distribution<std::uint64_t> wait(0, longest_wait);
  SlotQueue queue(slots);
  std::set<std::pair<std::uint64_t, std::size_t>> expected;
  const auto add = [&](std::size_t slot, std::uint64_t tick) {
    queue.add(slot, tick);
    expected.emplace(tick, slot);
  };
  for (std::size_t slot = 0; slot < slots; ++slot) add(slot, wait(generator));
  std::vector<std::size_t> idle;  // slots that wait until another one moves
  for (int event = 0; event < 20'000; ++event) {
    ASSERT_FALSE(queue.empty());
    const auto [slot, tick] = queue.take();
    ASSERT_EQ(std::pair(tick, slot), *expected.begin()) << event;
    expected.erase(expected.begin());
    idle.push_back(slot);
    if (event % 3 == 0 && !expected.empty()) continue;
    for (const std::size_t ended : idle) add(ended, tick + wait(generator));
    idle.clear();
  }
  while (!expected.empty()) {
    const auto [slot, tick] = queue.take();
    ASSERT_EQ(std::pair(tick, slot), *expected.begin());
    expected.erase(expected.begin());
  }
  EXPECT_TRUE(queue.empty());
}

TEST(SlotQueue, TakesSlotsByTimeAndThenByNumber) {
  for (const std::size_t slots : {1U, 63U, 64U, 132U, 1000U}) {
    SCOPED_TRACE(slots);
    expect_order_of_a_set(slots, 40);
  }
}

TEST(SlotQueue, HoldsTimesBeyondItsRing) {
  for (const std::uint64_t longest :
       {SlotQueue::kTicks - 1, SlotQueue::kTicks, 50 * SlotQueue::kTicks}) {
    SCOPED_TRACE(longest);
    expect_order_of_a_set(132, longest);
  }
}

TEST(SlotQueue, TakesASlotThatIsAddedAtTheCurrentTimeNext) {
  SlotQueue queue(200);
  for (const std::size_t slot : {130U, 131U, 199U}) queue.add(slot, 5);
  EXPECT_EQ(queue.take().slot, 130U);
  queue.add(3, 5);
  queue.add(130, 6);
  for (const std::size_t slot : {3U, 131U, 199U, 130U}) EXPECT_EQ(queue.take().slot, slot);
  EXPECT_TRUE(queue.empty());
}

}  // namespace
}  // namespace attnscope
