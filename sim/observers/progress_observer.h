/// Cancels a run on request, and reports its progress.
#pragma once

#include <atomic>
#include <functional>

#include "sim/ops/observer.h"

namespace attnscope {

/// Thrown to end a run that has been cancelled.
struct Cancelled {};

/// Throws Cancelled once `cancel` is true; checks it every few dozen operations. `cancel` may be
/// null.
class CancelObserver : public CountingObserver {
 public:
  explicit CancelObserver(const std::atomic<bool>* cancel) : cancel_(cancel) {}
  void observe(std::span<const TileOp> /*ops*/) override {
    if (cancel_ != nullptr && cancel_->load(std::memory_order_relaxed)) throw Cancelled{};
  }
  void mark() override {}
  void repeat(Index /*times*/) override {}

 private:
  const std::atomic<bool>* cancel_;
};

/// Reports the completed fraction of the expected operations; `report` may be empty.
class ProgressObserver : public Observer {
 public:
  ProgressObserver(Index expected, const std::function<void(double)>& report)
      : expected_(expected), report_(report) {}
  void observe(std::span<const TileOp> ops) override {
    done_ += static_cast<Index>(ops.size());
    if (report_) report_(static_cast<double>(done_) / static_cast<double>(expected_));
  }

 private:
  Index expected_, done_ = 0;
  const std::function<void(double)>& report_;
};

}  // namespace attnscope
