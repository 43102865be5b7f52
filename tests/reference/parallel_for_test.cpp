/// Work on several cores: each piece once, whatever the number of threads.
#include "reference/parallel_for.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

namespace attnscope {
namespace {

TEST(ParallelFor, CallsTheWorkOnceForEachNumber) {
  for (const unsigned threads : {0U, 1U, 2U, 7U}) {
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{100}}) {
      std::vector<std::atomic<int>> calls(count);
      parallel_for(count, threads, [&](std::size_t n) { ++calls[n]; });
      for (const std::atomic<int>& each : calls) EXPECT_EQ(each, 1) << threads;
    }
  }
}

TEST(ParallelFor, UsesTheCallersThreadAloneIfAskedTo) {
  parallel_for(8, 1, [caller = std::this_thread::get_id()](std::size_t) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
  });
}

TEST(ParallelFor, WorksOnSeveralPiecesAtATime) {
  std::atomic<int> arrived = 0;
  parallel_for(2, 2, [&](std::size_t) {
    ++arrived;
    while (arrived < 2) std::this_thread::yield();  // each waits for the other
  });
  EXPECT_EQ(arrived, 2);
}

TEST(ParallelFor, ThrowsTheErrorOfAPiece) {
  for (const unsigned threads : {1U, 3U}) {
    EXPECT_THROW(parallel_for(10, threads,
                              [](std::size_t n) {
                                if (n == 7) throw std::runtime_error("seven");
                              }),
                 std::runtime_error);
  }
}

}  // namespace
}  // namespace attnscope
