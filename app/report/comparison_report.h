/// Comparisons as text: one run as a table, many as a Markdown document.
#pragma once

#include <string>
#include <vector>

#include "app/report/compare.h"

namespace attnscope {

/// Where the recorded numbers come from, one table of all runs, flash2's lead over standard, and
/// for each run every line with its reason. A run that is shown alone has no modelled numbers.
std::string comparison_report(const Recording& recording, const GpuDescription& gpu,
                              const std::vector<Comparison>& comparisons);

/// The run's lines as an aligned table, with only the GPU's numbers if it is shown alone; `kind`
/// heads the GPU's column: "recorded", "measured".
std::string comparison_table(const Comparison& comparison, std::string_view kind);

}  // namespace attnscope
