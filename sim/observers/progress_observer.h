/// Tells how far a run has come, and stops it when asked.
#pragma once

#include <atomic>
#include <functional>

#include "sim/ops/observer.h"

namespace attnscope {

/// Reports the fraction of the expected operations that have passed, and throws Cancelled once
/// `cancel` is true. Both may be empty.
class ProgressObserver : public Observer {
 public:
  ProgressObserver(Index expected, const std::function<void(double)>& report,
                   const std::atomic<bool>* cancel)
      : expected_(expected), report_(report), cancel_(cancel) {}
  struct Cancelled {};
  void observe(std::span<const TileOp> ops) override {
    done_ += static_cast<Index>(ops.size());
    if (cancel_ != nullptr && cancel_->load()) throw Cancelled{};
    if (report_) report_(static_cast<double>(done_) / static_cast<double>(expected_));
  }

 private:
  Index expected_, done_ = 0;
  const std::function<void(double)>& report_;
  const std::atomic<bool>* cancel_;
};

}  // namespace attnscope
