#include "sim/snapshot/run_recorder.h"

#include <algorithm>

namespace attnscope {

namespace {

constexpr Index kWindowOps = 1 << 16;  // operations kept around the playhead

/// Keeps the operations [begin, end) of one thread block.
class OpCollector : public Observer {
 public:
  OpCollector(Index begin, Index end) : begin_(begin), end_(end) {}
  void observe(std::span<const TileOp> ops) override {
    for (const TileOp& op : ops) {
      if (step_ >= begin_ && step_ < end_) ops_.push_back(op);
      ++step_;
    }
  }
  std::vector<TileOp> take() { return std::move(ops_); }

 private:
  Index begin_, end_, step_ = 0;
  std::vector<TileOp> ops_;
};

}  // namespace

std::vector<TileOp> regenerate(const RunInfo& run, std::size_t launch, Index block, Index begin,
                               Index end) {
  OpCollector collector(begin, end);
  Observer* const observers[] = {&collector};
  Program program(observers);
  program.begin_block({run.batch, run.head, block});
  run.pass.launches[launch].run(run.grids[launch], block, program);
  return collector.take();
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
  ops_ = regenerate(info_, static_cast<std::size_t>(block.launch), block.block, begin,
                    begin + kWindowOps);
  begin_ = block.first_step + begin;
  return ops_[static_cast<std::size_t>(step - begin_)];
}

}  // namespace attnscope
