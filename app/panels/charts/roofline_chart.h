/// The roofline of the run on the screen: FLOP/s of its matrix products against their FLOP per byte
/// at each level of memory, below the ceilings of the GPU.
#pragma once

#include <optional>

#include "app/panels/charts/charts.h"
#include "sim/time/machine_rates.h"

namespace attnscope::app {

/// The run's prediction, and the ceilings that the GPU's calibration measured.
struct Roofline {
  SimulationReport model;  ///< with `time` if the GPU is calibrated
  std::optional<MachineRates> measured;
};

/// Models the run on the GPU, and predicts its DRAM bytes and time.
Result<Roofline> predict_roofline(const ResolvedRun& run, const GpuDescription& gpu,
                                  WorkControl& control);

/// Predicted and recorded points for the bytes requested, served by L2 and moved by DRAM. Without a
/// predicted time, the points that its lower bound allows: "bounds only".
ShownChart roofline_chart(const Roofline& roofline, const GpuDescription& gpu,
                          const Measurements& measurements, const Theme& theme);

}  // namespace attnscope::app
