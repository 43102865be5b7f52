#include "app/report/parallel_for.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <vector>

namespace attnscope {

void parallel_for(std::size_t count, unsigned threads,
                  const std::function<void(std::size_t)>& work) {
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
