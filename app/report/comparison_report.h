/// Comparisons as tables, and many as a Markdown document.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/report/prediction_errors.h"
#include "app/report/table.h"

namespace attnscope {

/// The run's lines. If the run is shown alone, they have only the GPU's numbers, and the title
/// gives the reason. `kind` heads the GPU's column: "recorded", "measured".
Table comparison_table(const Comparison& comparison, std::string_view kind);

/// A table of how far off the predictions are, from prediction_errors().
Table errors_table(const std::vector<Comparison>& comparisons);

/// A Markdown document: the origin of the recorded numbers, one table of all runs, flash2's lead
/// over standard, and for each run every line with its reason. A run that is shown alone has no
/// modelled numbers.
std::string comparison_report(const Recording& recording, const GpuDescription& gpu,
                              const std::vector<Comparison>& comparisons);

}  // namespace attnscope
