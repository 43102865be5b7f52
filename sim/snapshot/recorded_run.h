/// One head, run once from its first operation to its last, and the data kept so that every step
/// can be shown again.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "sim/snapshot/run_recorder.h"
#include "sim/snapshot/stepped_run.h"

namespace attnscope {

struct RecordedRun {
  std::shared_ptr<RunInfo> info = std::make_shared<RunInfo>();
  AttentionProblem shown_problem;  ///< one head; it and `inputs` where values are shown
  AttentionInputs inputs;
  std::vector<LaunchOccupancy> occupancy;  ///< of each launch
  std::vector<BlockStart> blocks;          ///< by first step
  std::vector<Keyframe> keyframes;         ///< by step
  std::array<StoreHistory, kTensorCount> stores;
  Journal journal;
  std::unique_ptr<NumericExecutor> executor;  ///< after the last step; null without values
};

/// A copy of the values of a matrix.
ValueTile value_tile(const RowMatrix& values);

/// Runs the head; `progress` and `cancel` as of SteppedRun::create. The executor refers to the
/// result's problem and inputs, which therefore must not move.
Result<std::unique_ptr<RecordedRun>> record_run(const SteppedRequest& request,
                                                const std::function<void(double)>& progress,
                                                const std::atomic<bool>* cancel);

// HBM as a snapshot shows it: which tensors exist, and which of their tiles have values after a
// step.

/// The state of every HBM tensor of the shown head after operation `step`: inputs, tensors that the
/// pass stores, tensors from an earlier pass, and S and P as outlines if they are never stored.
std::vector<HbmTensorState> hbm_states(const RunInfo& info,
                                       const std::array<StoreHistory, kTensorCount>& stores,
                                       Index step);

}  // namespace attnscope
