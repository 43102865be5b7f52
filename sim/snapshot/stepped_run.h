/// One head of a problem, step by step: the schedule's operations as a sequence that can be
/// traversed in both directions, with the actual state of memory at every step. Keeps a window and
/// keyframes; everything else is regenerated.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "sim/snapshot/snapshot.h"

namespace attnscope {

class SteppedRun {
 public:
  /// Runs the head once, keeping keyframes. Calls `progress` with the completed fraction from time
  /// to time. If `cancel` is set to true, returns Error failed "cancelled".
  static Result<std::unique_ptr<SteppedRun>> create(
      const SteppedRequest& request, const std::function<void(double)>& progress = {},
      const std::atomic<bool>* cancel = nullptr);
  ~SteppedRun();

  const std::shared_ptr<const RunInfo>& info() const;
  /// The state after operation `step`, -1 <= step < step_count; exact, regardless of which step was
  /// requested before. `query` and `O_column` choose the row that SoftmaxRow and GradientRow
  /// follow; query -1: the first row of the current row tile.
  Snapshot at(Index step, Index query = -1, Index O_column = 0);

 private:
  struct Impl;
  explicit SteppedRun(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace attnscope
