#include "sim/ops/program.h"

#include <algorithm>

namespace attnscope {

void Program::send() {
  if (size_ == 0) return;
  const std::span<const TileOp> ops(buffer_.data(), size_);
  for (Observer* observer : observers_) observer->observe(ops);
  size_ = 0;
}

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
  if (agent_ != Agent::block && !counts_only()) {
    agents_.add(agent_, {buffer_.data(), size_});
    size_ = 0;
    return;
  }
  send();
}

void Program::run_agents() {
  const auto emit = [this](const TileOp& op) {
    buffer_[size_] = op;
    if (++size_ == buffer_.size()) send();
  };
  const auto report = [this](std::span<const StuckAgent> stuck) {
    send();
    for (Observer* observer : observers_) observer->deadlock(stuck);
  };
  agents_.run(emit, report);
  send();
  for (TileOp& op : buffer_) op.skipped = op.unreached = false;
}

void Program::end_block() {
  flush();
  agent_ = Agent::block;
  if (agents_.any()) run_agents();
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
