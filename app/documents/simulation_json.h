/// A simulation's results as JSON (schema attnscope.simulation/1) and as text, and the parts
/// shared with documents about kernel runs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "sim/simulation.h"

namespace attnscope {

/// The results of simulate; a part that was not requested is absent.
struct SimulationAnswer {
  SimulationReport report;
  GpuDescription gpu;
  std::optional<WarpReport> warps = {};
  std::optional<NumericResult> numbers = {};
  std::optional<Error> unsaved = {};  ///< why --out could not be written
};

/// Whether an output of the pass contains a NaN.
bool has_nan(const NumericResult& numbers, PassKind pass);

/// Some members are present only if they apply: "accuracy" and "inputs" if values were computed;
/// "warps" if warps are modelled; "memory.reason" if memory does not fit; "traffic.dram" if it can
/// be predicted in time, its "transition" and interval if the run is in transition; "capacities" if
/// the user gave some; "carry" and "variant" if not the default. The errors of "accuracy" are the
/// largest among its "tensors", the pass's outputs: O forward; dQ, dK, dV backward; all for both.
nlohmann::ordered_json simulation_json(const SimulationAnswer& answer);

/// The members "problem", "algorithm", "kernel", "pass", "tiling", "carry" and "inputs" of a
/// kernel's run, as in a recording.
nlohmann::ordered_json run_identity(const ResolvedRun& run);

/// The results as tables. Every number in them is modelled.
std::string simulation_text(const SimulationAnswer& answer);

}  // namespace attnscope
