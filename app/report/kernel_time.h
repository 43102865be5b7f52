/// The time that the model predicts for a kernel's run.
#pragma once

#include <atomic>
#include <vector>

#include "kernels/recording/measurement.h"
#include "sim/time/time_model.h"

namespace attnscope {

/// How the run's kernel works on the GPU, by the GPU's calibration. Blocks on an SM as the recorded
/// kernels of `launches` say, else as the calibration found.
KernelCosts kernel_costs(const SimulationReport& report, const GpuDescription& gpu,
                         const Calibration& calibration,
                         const std::vector<LaunchCounters>& launches = {});

/// Sets report.time to predict_time() of the report's run; not where the GPU has no calibration, or
/// report.dram is missing.
void predict_kernel_time(SimulationReport& report, const GpuDescription& gpu,
                         const std::vector<LaunchCounters>& launches = {},
                         const std::atomic<bool>* cancel = nullptr);

}  // namespace attnscope
