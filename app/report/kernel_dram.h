/// The DRAM bytes that the model predicts for a kernel's run.
#pragma once

#include <atomic>
#include <vector>

#include "kernels/recording/measurement.h"
#include "sim/simulation.h"

namespace attnscope {

/// How much work a prediction may be.
struct PredictionLimits {
  double most_transfers = kMostTransfers;
  const std::atomic<bool>* cancel = nullptr;
};

/// Sets report.dram to predict_dram() of the report's run, as its kernel starts thread blocks; not
/// where that exceeds the limits. An SM holds as many blocks as the recorded kernels of `launches`
/// say, or by the model's account of on-chip memory where there are none.
void predict_kernel_dram(SimulationReport& report, const GpuDescription& gpu,
                         const std::vector<LaunchCounters>& launches = {},
                         const PredictionLimits& limits = {});

}  // namespace attnscope
