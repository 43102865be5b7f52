/// The modelled time of a run as JSON and as lines of a table.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "app/report/report_text.h"
#include "sim/simulation.h"

namespace attnscope {

/// An object with "bound_s", the lower bound of the time, its kind, its basis and the unit that
/// sets it.
nlohmann::ordered_json time_bound_json(const SimulationReport& report);

/// time_bound_json() and the prediction: "predicted_s", "primitives_s" (from the rates of the units
/// alone), "clock_hz", "parts" (seconds) and "launches", absent if there is none; "calibrated",
/// false with a "calibration_reason" for a prediction that is not based on calibrated steps;
/// "what_if" for a description with values other than the GPU's.
nlohmann::ordered_json time_json(const SimulationReport& report, const GpuDescription& gpu);

/// Lines of {quantity, value}: the prediction, its parts and its basis, or why there is none; and
/// the lower bound.
Lines time_lines(const SimulationReport& report, const GpuDescription& gpu);

}  // namespace attnscope
