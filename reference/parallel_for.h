/// Runs independent pieces of work on several cores.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <future>
#include <vector>

namespace attnscope {

/// Calls `work(n)` once for each n below `count`, in this order, on at most `threads` threads (at
/// least one: the caller's). Returns when all calls have returned. If one throws, each thread
/// completes at most the call that it has begun, and one of the exceptions is rethrown.
template <typename Work>
void parallel_for(std::size_t count, unsigned threads, const Work& work) {
  std::atomic<std::size_t> next = 0;
  const auto take = [&] {
    try {
      for (std::size_t n = next++; n < count; n = next++) work(n);
    } catch (...) {
      next = count;
      throw;
    }
  };
  std::vector<std::future<void>> others;
  for (std::size_t thread = 1; thread < std::min<std::size_t>(threads, count); ++thread) {
    // No launch policy: if no more threads can be started, get() runs the work in this thread
    others.push_back(std::async(take));
  }
  take();
  for (std::future<void>& other : others) other.get();
}

}  // namespace attnscope
