/// HBM as a snapshot shows it: which tensors exist, and which of their tiles have values after a
/// step.
#pragma once

#include <vector>

#include "sim/snapshot/run_recorder.h"

namespace attnscope {

/// The state of every HBM tensor of the shown head after operation `step`: inputs, tensors that the
/// pass stores, tensors from an earlier pass, and S and P as outlines if they are never stored.
std::vector<HbmTensorState> hbm_states(const RunInfo& info,
                                       const std::array<StoreHistory, kTensorCount>& stores,
                                       Index step);

}  // namespace attnscope
