/// The cause of a gap between requested bytes and the model's, in one or two words.
#pragma once

#include <string>

#include "app/report/compare.h"

namespace attnscope {

/// Why requested bytes differ from the model's ("tile lists"); empty if they agree or the reason is
/// not known. The line's `reason` says it in full.
std::string gap_cause(const ComparisonLine& line, const SimulationReport& model);

}  // namespace attnscope
