/// Why a recorded number differs from the modelled one: sentences derived from the data.
#pragma once

#include "app/report/compare.h"

namespace attnscope {

/// Rows of O for each of which standard's output product read V once, as its bytes tell: a library
/// chooses that tile apart from the one of the scores. Nothing when the bytes fit no whole number
/// of reads within 1 %, or when fewer than 16 rows share one, which is no tile of V any more.
std::optional<Index> fitted_output_rows(const RecordingRow& run);

/// Adds to a line that has both numbers its gap and the reason for it, or the words that stand in
/// place of a ratio: of a time below kLaunchLatencySeconds, of DRAM bytes below kSmallDramBytes.
void add_gap(ComparisonLine& line, const SimulationReport& model, const GpuDescription& gpu,
             const RecordingRow& run);

}  // namespace attnscope
