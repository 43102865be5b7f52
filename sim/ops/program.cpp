#include "sim/ops/program.h"

#include <algorithm>

namespace attnscope {

void Program::flush() {
  if (size_ == 0) return;
  const std::span<const TileOp> ops(buffer_.data(), size_);
  for (Observer* observer : observers_) observer->observe(ops);
  size_ = 0;
}

void Program::mark() {
  flush();
  for (CountingObserver* counter : counters_) counter->mark();
}

bool Program::repeatable() {
  flush();
  return std::ranges::all_of(counters_, &CountingObserver::repeatable);
}

void Program::repeat(Index times) {
  flush();
  for (CountingObserver* counter : counters_) counter->repeat(times);
}

}  // namespace attnscope
