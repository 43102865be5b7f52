/// A simulation's results as JSON (schema attnscope.simulation/1) and as text, and the parts that
/// documents of kernels' runs share.
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

/// Whether an output of the pass holds a NaN.
bool has_nan(const NumericResult& numbers, PassKind pass);

/// "accuracy" and "inputs" are absent unless values were computed, "warps" unless warps are
/// modelled; "memory.reason" unless it does not fit; "traffic.dram", the prediction, if it takes
/// too long, and its "transition" and interval unless its run is in transition; "capacities" unless
/// the
/// user gave some; "carry" and "variant" unless they are not the default. The errors of "accuracy"
/// are the largest of those of its "tensors", the pass's outputs: O forward; dQ, dK, dV backward;
/// all of both.
nlohmann::ordered_json simulation_json(const SimulationAnswer& answer);

/// {"problem", "algorithm", "kernel", "pass", "tiling", "carry", "inputs"} of a kernel's run, as in
/// a recording.
nlohmann::ordered_json run_identity(const ResolvedRun& run);

/// The results as tables. Every number in them is modelled.
std::string simulation_text(const SimulationAnswer& answer);

}  // namespace attnscope
