/// The time that the model predicts for a kernel's run.
#pragma once

#include <atomic>
#include <optional>
#include <string_view>
#include <vector>

#include "kernels/recording/measurement.h"
#include "sim/time/time_model.h"

namespace attnscope {

/// The rates of the GPU's calibration, with the changes of a what-if; nothing if the calibration is
/// missing or incomplete.
std::optional<MachineRates> calibrated_rates(const GpuDescription& gpu);

/// How the run's kernel works on the GPU, according to the GPU's calibration. The number of blocks
/// on an SM comes from the recorded kernels in `launches`, else from the calibration.
KernelCosts kernel_costs(const SimulationReport& report, const GpuDescription& gpu,
                         const Calibration& calibration,
                         const std::vector<LaunchCounters>& launches = {});

/// Sets report.time to predict_time() of the report's run, unless the GPU has no calibration or
/// report.dram is missing. Predictions are cached on the user's disk.
void predict_kernel_time(SimulationReport& report, const GpuDescription& gpu,
                         const std::vector<LaunchCounters>& launches = {},
                         const std::atomic<bool>* cancel = nullptr);

/// Calls predict_schedule() for a launch of the report's run, which has a DRAM prediction.
/// unavailable if the GPU has no calibration.
Result<PredictedSchedule> predict_kernel_schedule(const SimulationReport& report,
                                                  const GpuDescription& gpu,
                                                  std::string_view launch,
                                                  const std::atomic<bool>* cancel = nullptr);

}  // namespace attnscope
