/// A simulation's answer as JSON (schema attnscope.simulation/1) and as text.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "sim/warp_report.h"

namespace attnscope::cli {

/// The worst of the errors of the pass's outputs: O forward; dQ, dK, dV backward; all of both.
ErrorReport output_error(const NumericResult& numbers, PassKind pass);

/// "accuracy" is absent unless `numbers` is given, "warps" unless `warps` is; "memory.reason"
/// unless it does not fit; "carry" and "variant" unless they are not the default.
nlohmann::ordered_json simulation_json(const SimulationReport& report, const NumericResult* numbers,
                                       const WarpReport* warps);

/// Tables for people. Every number in it is modelled.
std::string simulation_text(const SimulationReport& report, const GpuDescription& gpu,
                            const NumericResult* numbers, const WarpReport* warps);

}  // namespace attnscope::cli
