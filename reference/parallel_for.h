/// Runs independent pieces of work on several cores.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <future>
#include <vector>

namespace attnscope {

/// Calls `work(n)` once for each n below `count`, in this order, on at most `threads` threads (at
/// least one: the caller's). Returns when all calls have returned; an exception thrown by one of
/// them is then rethrown.
template <typename Work>
void parallel_for(std::size_t count, unsigned threads, const Work& work) {
  std::atomic<std::size_t> next = 0;
  const auto take = [&] {
    for (std::size_t n = next++; n < count; n = next++) work(n);
  };
  std::vector<std::future<void>> others;
  for (std::size_t thread = 1; thread < std::min<std::size_t>(threads, count); ++thread) {
    others.push_back(std::async(std::launch::async, take));
  }
  take();
  for (std::future<void>& other : others) other.get();
}

}  // namespace attnscope
