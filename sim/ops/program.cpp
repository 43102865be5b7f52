#include "sim/ops/program.h"

#include <algorithm>

namespace attnscope {

void Program::mark_dropped() {
  for (std::size_t k = 0; k < size_; ++k) {
    TileOp& op = buffer_[k];
    op.skipped = false;
    if (!dropped_->matches(op)) continue;
    const auto& only = dropped_->only;
    op.skipped = !only || (only->block == block_.block && only->time == times_matched_);
    ++times_matched_;
  }
}

void Program::flush() {
  if (size_ == 0) return;
  if (dropped_) mark_dropped();
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
