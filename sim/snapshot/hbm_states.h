/// HBM as a snapshot shows it: which tensors there are, and which of their tiles hold values by a
/// step.
#pragma once

#include <vector>

#include "sim/snapshot/run_recorder.h"

namespace attnscope {

/// The state of every HBM tensor of the shown head after operation `step`: inputs, what the pass
/// stores, what an earlier pass left for it, and S and P as ghosts where nothing ever stores them.
std::vector<HbmTensorState> hbm_states(const RunInfo& info,
                                       const std::array<StoreHistory, kTensorCount>& stores,
                                       Index step);

}  // namespace attnscope
