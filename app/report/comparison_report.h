/// Comparisons as a Markdown document for people.
#pragma once

#include <string>
#include <vector>

#include "app/report/compare.h"

namespace attnscope {

/// Where the recorded numbers come from, one table of all runs, flash2's lead over standard, and
/// for each run every line with its reason. A run that stands alone has no modelled numbers.
std::string comparison_report(const Recording& recording, const GpuDescription& gpu,
                              const std::vector<Comparison>& comparisons);

/// "dram", "requested, scores S": what a line is about.
std::string level_text(const ComparisonLine& line);

/// "+0.12 %", or what stands in its place; "-" where there is neither.
std::string gap_text(const ComparisonLine& line);

/// "17.31 GB", "12.34 us": a line's number with its unit.
std::string quantity_text(const ComparisonLine& line, double value);

/// "flash2, N 1024, d 64, B 16, H 32, bf16, causal"; a pass other than forward is named.
std::string run_title(const RecordingRow& row);

}  // namespace attnscope
