#include "sim/snapshot/op_window.h"

#include <fmt/core.h>

#include <algorithm>

#include "sim/observers/progress_observer.h"

namespace attnscope {

namespace {

constexpr Index kWindowOps = 1 << 16;  // operations kept around the playhead

/// Thrown to end a thread block's program early.
struct SeenEnough {};

/// Forwards the operations [begin, end) of one thread block.
class OpVisitor : public Observer {
 public:
  OpVisitor(Index begin, Index end, const VisitOp& visit)
      : begin_(begin), end_(end), visit_(visit) {}
  void observe(std::span<const TileOp> ops) override {
    for (const TileOp& op : ops) {
      if (local_ >= end_) throw SeenEnough{};
      if (local_ >= begin_ && !visit_(local_, op)) throw SeenEnough{};
      ++local_;
    }
  }

 private:
  Index begin_, end_, local_ = 0;
  const VisitOp& visit_;
};

}  // namespace

void regenerate(const RunInfo& run, const BlockOps& ops, const VisitOp& visit,
                const std::atomic<bool>* cancel) {
  OpVisitor visitor(ops.begin, ops.end, visit);
  CancelObserver canceller(cancel);
  Observer* const observers[] = {&canceller, &visitor};
  Program program(observers);
  program.begin_block({run.batch, run.head, ops.block});
  try {
    run.pass.launches[ops.launch].run(run.grids[ops.launch], ops.block, program);
  } catch (const SeenEnough&) {
    // The rest of the block was not requested
  }
}

std::vector<TileOp> regenerate(const RunInfo& run, const BlockOps& ops) {
  std::vector<TileOp> regenerated;
  regenerate(run, ops, [&](Index /*local*/, const TileOp& op) {
    regenerated.push_back(op);
    return true;
  });
  return regenerated;
}

const BlockStart& OpWindow::block_of(Index step) const {
  return *(std::ranges::upper_bound(blocks_, step, {}, &BlockStart::first_step) - 1);
}

Index OpWindow::block_end(const BlockStart& block) const {
  const auto next =
      std::ranges::upper_bound(blocks_, block.first_step, {}, &BlockStart::first_step);
  return next == blocks_.end() ? info_.step_count : next->first_step;
}

const TileOp& OpWindow::at(Index step) {
  if (step >= begin_ && step < begin_ + static_cast<Index>(ops_.size())) {
    return ops_[static_cast<std::size_t>(step - begin_)];
  }

  // Regenerate the part of the thread block around the step
  const BlockStart& block = block_of(step);
  const Index local = step - block.first_step;
  const Index begin = std::max<Index>(0, local - kWindowOps / 2);
  ops_ = regenerate(
      info_, {static_cast<std::size_t>(block.launch), block.block, begin, begin + kWindowOps});
  begin_ = block.first_step + begin;
  return ops_[static_cast<std::size_t>(step - begin_)];
}

std::string OpWindow::place_in_line(Index step) {
  constexpr Index kMostOps = 8;
  const BlockStart& block = block_of(step);
  const Index end = block_end(block);
  const TileOp op = at(step);
  const auto is_of_line = [&](Index other) {
    return at(other).line == op.line && at(other).agent == op.agent;
  };
  Index first = step, past_last = step + 1;
  while (first > block.first_step && step - first < kMostOps && is_of_line(first - 1)) --first;
  while (past_last < end && past_last - step <= kMostOps && is_of_line(past_last)) ++past_last;
  if (past_last - first > kMostOps) return "";

  // An operation like the first one begins the line's next tile
  const TileOp lead = at(first);
  for (Index other = first + 1; other < past_last; ++other) {
    const TileOp& each = at(other);
    const bool is_alike = each.kind == lead.kind &&
                          each.dest_tiles[0].tensor == lead.dest_tiles[0].tensor &&
                          each.source_tiles[0].tensor == lead.source_tiles[0].tensor;
    if (!is_alike) continue;
    if (other <= step) first = other;
    if (other > step) past_last = other;
  }
  if (past_last - first < 2) return "";
  return fmt::format("{} of {}: ", step - first + 1, past_last - first);
}

}  // namespace attnscope
