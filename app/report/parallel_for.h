/// Independent pieces of work on several cores.
#pragma once

#include <cstddef>
#include <functional>

namespace attnscope {

/// Calls `work(n)` once for each n below `count`, in this order, on at most `threads` threads (at
/// least one: the caller's). Returns when all calls have; an exception of one of them is thrown
/// again then.
void parallel_for(std::size_t count, unsigned threads,
                  const std::function<void(std::size_t)>& work);

}  // namespace attnscope
