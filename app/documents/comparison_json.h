/// A comparison of a modelled and a recorded run as JSON: the parts of schema
/// attnscope.comparison/1 that belong to one run.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "app/report/compare.h"

namespace attnscope {

/// One quantity; a number that is missing is absent, and "unavailable" has the reason.
nlohmann::ordered_json comparison_line_json(const ComparisonLine& line);

/// The run's identity and its "lines"; "unavailable" in their place for a run without a
/// measurement; "no_gap", the reason, for a run that is shown alone.
nlohmann::ordered_json comparison_json(const Comparison& comparison);

}  // namespace attnscope
