/// The launches of a measurement, with their counters and kernels, in recordings. Internal to
/// kernels/recording.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "kernels/recording/measurement.h"
#include "reference/json/json_document.h"

namespace attnscope {

/// A list with an object for each launch: "name", "counted", "counters" and, if its kernels were
/// recorded, "kernels": [{"name": "_ZN...", "grid": [1056, 1, 1], "cluster": [1, 1, 1],
/// "threads": 128, "registers": 168, "shared_bytes": 65536, "local_bytes": 0,
/// "resident_blocks": 3}], as in LaunchShape.
nlohmann::json launches_json(const std::vector<LaunchCounters>& launches);

/// The member "launches" of a row. A launch without "kernels" has none; a kernel has every member.
/// Throws JsonFieldError.
std::vector<LaunchCounters> launches_from_json(const JsonObject& row);

}  // namespace attnscope
