/// One head, run once from its first operation to its last: the data of SteppedRun.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "reference/inputs.h"
#include "sim/snapshot/run_recorder.h"

namespace attnscope {

/// The run, its history, and its state after the last operation.
struct RecordedRun : RunHistory {
  std::shared_ptr<RunInfo> info = std::make_shared<RunInfo>();
  AttentionProblem shown_problem;  ///< one head; set if any values are shown, like `inputs`
  AttentionInputs inputs;
  std::vector<LaunchOccupancy> occupancy;     ///< of each launch
  std::unique_ptr<NumericExecutor> executor;  ///< after the last step; null without values
};

/// Runs the head; `progress` and `cancel` as in SteppedRun::create(). The executor refers to the
/// result's problem and inputs, which therefore must not move.
Result<std::unique_ptr<RecordedRun>> record_run(const SteppedRequest& request,
                                                const std::function<void(double)>& progress,
                                                const std::atomic<bool>* cancel);

/// The state of every HBM tensor of the displayed head after operation `step`: inputs, tensors that
/// the pass stores, tensors from an earlier pass, and S and P as outlines if they are never stored.
std::vector<HbmTensorState> hbm_states(const RunInfo& info,
                                       const std::array<StoreHistory, kTensorCount>& stores,
                                       Index step);

}  // namespace attnscope
